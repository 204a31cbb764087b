package policies

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// maxSkew is how far our clock and the API server's may be apart.
const maxSkew = 5 * time.Second

var errNoDate = errors.New("clock skew is unknown: the API server's answer has no Date")

// ObserveDates gives a transport that compares our clock with the Date of every answer.
func (l *Loop) ObserveDates(next http.RoundTripper) http.RoundTripper {
	return dates{next: next, loop: l}
}

type dates struct {
	next http.RoundTripper
	loop *Loop
}

// RoundTrip implements http.RoundTripper. It is called by reads that hold live.mu only.
func (d dates) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := d.loop.Clock.Now()
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		d.loop.live.skew = errNoDate
		return response, nil
	}
	d.loop.live.skew = skew(date, sent, d.loop.Clock.Now())
	return response, nil
}

// skew says that the server's clock may differ from ours by more than allowed. A Date is cut to the second, and was
// taken some time between sent and received; doubt counts.
func skew(date, sent, received time.Time) error {
	behind := received.Sub(date)
	ahead := date.Add(time.Second).Sub(sent)
	if worst := max(behind, ahead); worst > maxSkew {
		return fmt.Errorf("clock skew: the API server's clock may differ from ours by more than %s", maxSkew)
	}
	return nil
}

package admission

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// written is a policy as it stands in a request, as far as it matters whether somebody has changed it.
type written struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec map[string]any `json:"spec"`
}

// readWritten gives nil for no data.
func readWritten(data []byte) (*written, error) {
	if len(data) == 0 {
		return nil, nil
	}
	w := &written{}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, w); err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return w, nil
}

func (w *written) approved() string { return w.Metadata.Annotations[v1alpha1.ApprovedAnnotation] }

func (w *written) mode() string {
	mode, _ := w.Spec["mode"].(string)
	return mode
}

// rules are the rules by name, each as JSON.
func (w *written) rules() map[string]string {
	byName := map[string]string{}
	list, _ := w.Spec["rules"].([]any)
	for _, rule := range list {
		fields, _ := rule.(map[string]any)
		name, _ := fields["name"].(string)
		text, err := json.Marshal(rule) // keys in order
		if err == nil {
			byName[name] = string(text)
		}
	}
	return byName
}

// differs reports whether any of the fields of the spec is another.
func (w *written) differs(o *written, fields ...string) bool {
	for _, field := range fields {
		if !reflect.DeepEqual(w.Spec[field], o.Spec[field]) {
			return true
		}
	}
	return false
}

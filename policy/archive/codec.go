// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

const (
	window    = 512 << 10       // bytes of compression: bounds the memory of writers
	maxWindow = 8 << 20         // bytes that readers accept: zstd without options uses at most this
	maxObject = 2 * MaxRecord   // bytes of an object in the bucket that are read
	maxLine   = MaxRecord + 512 // bytes

	// maxText is how many bytes of an object are read after decompression. A segment has at most FullBytes and MaxRecord, and an index
	// object some megabytes; a forged one could have any number.
	maxText = 256 << 20
)

// newEncoder compresses in one goroutine, with about 1.5 MB. Slower levels need twice the memory and save no more than a twentieth.
func newEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // an option that is not valid
	}
	return e
}

// marshal writes a value as a line of JSON without white space, and with <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var line bytes.Buffer
	err := marshalTo(&line, v)
	return line.Bytes(), err
}

// marshalTo is marshal. After an error it has written nothing.
func marshalTo(to *bytes.Buffer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// encrypt encrypts data for recipients. Without recipients it returns data.
func encrypt(data []byte, recipients []age.Recipient) ([]byte, error) {
	if len(recipients) == 0 {
		return data, nil
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipients...)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt for the recipients of the archive: %w", err)
	}
	return out.Bytes(), nil
}

// lines reads an object, verifies its digest, and yields its lines without their ends. A line is valid until the next one. After an
// error it ends.
func (r *Reader) lines(ctx context.Context, object string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		plain, err := r.open(ctx, object)
		if err != nil {
			yield(nil, err)
			return
		}
		d, err := zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			yield(nil, corrupt(object, err))
			return
		}
		defer d.Close()
		s := bufio.NewScanner(d)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		for n := 0; s.Scan(); {
			if n += len(s.Bytes()); n > maxText {
				yield(nil, corrupt(object, fmt.Errorf("it has more than %d MiB after decompression", maxText>>20)))
				return
			}
			if !yield(s.Bytes(), nil) {
				return
			}
		}
		if s.Err() != nil {
			yield(nil, corrupt(object, s.Err()))
		}
	}
}

// open reads an object, verifies its digest and decrypts it.
func (r *Reader) open(ctx context.Context, object string) (io.Reader, error) {
	n, ok := parseName(object)
	if !ok {
		return nil, fmt.Errorf("object %q is not part of an archive: its name is not that of a segment or of an index object", object)
	}
	in, err := r.Bucket.Read(ctx, object)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxObject))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("read object %q: %w", object, err)
	}
	if got := digest(data); got != n.digest {
		return nil, corrupt(object, fmt.Errorf("its SHA-256 is %s; restore it from a copy of the bucket", got))
	}
	if !n.encrypted {
		return bytes.NewReader(data), nil
	}
	plain, err := age.Decrypt(bytes.NewReader(data), r.Identities...)
	if none := new(age.NoIdentityMatchError); len(r.Identities) == 0 || errors.As(err, &none) {
		return nil, fmt.Errorf("object %q: %w; give the private key of a recipient", object, ErrEncrypted)
	}
	if err != nil {
		return nil, corrupt(object, err)
	}
	return plain, nil
}

func corrupt(object string, err error) error {
	return fmt.Errorf("object %q: %w: %w", object, ErrCorrupt, err)
}

// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"context"
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
	maxObject = 2 * MaxRecord   // bytes of an object in the bucket
	maxLine   = MaxRecord + 512 // bytes
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

// encrypt encrypts data for recipients. Without recipients it returns data.
func encrypt(data []byte, recipients []age.Recipient) ([]byte, error) {
	if len(recipients) == 0 {
		return data, nil
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt for the recipients of the archive: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// fetch reads an object and verifies its digest, so that no caller sees other bytes than were written. What is encrypted stays so.
func fetch(ctx context.Context, b Bucket, object string) ([]byte, error) {
	n, err := parseAny(object)
	if err != nil {
		return nil, err
	}
	r, err := b.Read(ctx, object)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxObject+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("read object %q: %w", object, err)
	}
	if len(data) > maxObject {
		return nil, fmt.Errorf("object %q: %w: it is longer than %d bytes", object, ErrCorrupt, maxObject)
	}
	if got := digest(data); got != n.digest {
		return nil, fmt.Errorf("object %q: %w: its SHA-256 is %s; restore it from a copy of the bucket", object, ErrCorrupt, got)
	}
	return data, nil
}

// lines yields the lines of an object that fetch has read, without their ends. A line is valid until the next one.
func lines(object string, data []byte, identities []age.Identity) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		plain, err := decrypt(object, data, identities)
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
		for s.Scan() {
			if !yield(s.Bytes(), nil) {
				return
			}
		}
		if s.Err() != nil {
			yield(nil, corrupt(object, s.Err()))
		}
	}
}

func decrypt(object string, data []byte, identities []age.Identity) (io.Reader, error) {
	if n, err := parseAny(object); err != nil || !n.encrypted {
		return bytes.NewReader(data), err
	}
	if len(identities) == 0 {
		return nil, fmt.Errorf("object %q: %w; give the private key of a recipient", object, ErrEncrypted)
	}
	plain, err := age.Decrypt(bytes.NewReader(data), identities...)
	if none := new(age.NoIdentityMatchError); errors.As(err, &none) {
		return nil, fmt.Errorf("object %q: %w; give the private key of another recipient", object, ErrEncrypted)
	}
	if err != nil {
		return nil, corrupt(object, err)
	}
	return plain, nil
}

func corrupt(object string, err error) error {
	return fmt.Errorf("object %q: %w: %w", object, ErrCorrupt, err)
}

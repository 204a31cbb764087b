// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Archive is what an archive without encryption has, read as docs/reference/archive-format.md describes it.
type Archive struct {
	Records []Record
	Results []ArchiveResult
	Damaged []string // objects whose content is not that of their name, or cannot be read
}

// Record is the record of one version of one object.
type Record struct {
	Segment string // name in the bucket
	Digest  string // SHA-256 of the segment, as in its name
	Line    int
	Policy  string
	Rule    string
	Object  unstructured.Unstructured
	// Dependents and Events are as in the record, like Object.
	Dependents, Events []unstructured.Unstructured
	Logs               []ContainerLog
	// Verified is when a read of the whole segment was answered for the first time; zero if never, or if that is not known.
	Verified time.Time
}

// ContainerLog is the end of the log of a container, as a record has it.
type ContainerLog struct {
	Pod, Container, Missing, Text string
	Truncated                     bool
}

// Container is a container of a Pod.
type Container struct{ Namespace, Pod, Name string }

// ArchiveResult says what happened to the object of a record.
type ArchiveResult struct {
	Result          string // deleted, gone, absent, kept or unknown
	UID             types.UID
	ResourceVersion string
}

// segments and indexes match the names of objects of an archive.
var (
	segments = regexp.MustCompile(`^segments/\d{4}/\d\d/\d\d/\d{8}T\d{6}Z-([0-9a-f]{64})\.jsonl\.zst$`)
	indexes  = regexp.MustCompile(`^index/\d{4}/\d\d/\d\d/\d{8}T\d{6}Z-([0-9a-f]{64})\.jsonl\.zst$`)
)

// ReadArchive reads the objects of an archive from the directory of its store. Only what has the digest of its name counts.
func ReadArchive(dir string) (*Archive, error) {
	a := &Archive{}
	bySegment := map[string][]Record{}
	var finished []finishedLine
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return nil // nothing was written
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return a.read(file, filepath.ToSlash(name), bySegment, &finished)
	})
	for _, f := range finished {
		a.Results = append(a.Results, f.results(bySegment)...)
	}
	return a, err
}

func (a *Archive) read(file, name string, bySegment map[string][]Record, finished *[]finishedLine) error {
	kind := segments
	if !segments.MatchString(name) {
		kind = indexes
	}
	digest := kind.FindStringSubmatch(name)
	if digest == nil {
		return nil // a probe, or a file of the store
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines, err := linesOf(data, digest[1])
	for n, line := range lines {
		if err != nil {
			break
		}
		if kind == indexes {
			var f finishedLine
			if err = json.Unmarshal(line, &f); err == nil && f.Result != "" {
				*finished = append(*finished, f)
			}
			continue
		}
		var r Record
		if r, err = recordOf(line); err == nil {
			r.Segment, r.Digest, r.Line = name, digest[1], n
			bySegment[name] = append(bySegment[name], r)
		}
	}
	if err != nil {
		a.Damaged = append(a.Damaged, fmt.Sprintf("%s: %v", name, err))
		delete(bySegment, name)
		return nil
	}
	a.Records = append(a.Records, bySegment[name]...)
	return nil
}

// linesOf decompresses an object that has this digest.
func linesOf(data []byte, digest string) ([][]byte, error) {
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, errors.New("its SHA-256 is not that of its name")
	}
	decoder, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(decoder); err != nil {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(text.Bytes(), []byte("\n")), []byte("\n")), nil
}

func recordOf(line []byte) (r Record, err error) {
	written := struct {
		Policy, Rule       string
		Object             json.RawMessage
		Dependents, Events []json.RawMessage
		Logs               []ContainerLog
	}{}
	if err := json.Unmarshal(line, &written); err != nil {
		return r, err
	}
	r.Policy, r.Rule, r.Logs = written.Policy, written.Rule, written.Logs
	if err := utiljson.Unmarshal(written.Object, &r.Object.Object); err != nil {
		return r, err
	}
	if r.Dependents, err = objectsOf(written.Dependents); err != nil {
		return r, err
	}
	r.Events, err = objectsOf(written.Events)
	return r, err
}

func objectsOf(all []json.RawMessage) (objects []unstructured.Unstructured, err error) {
	for _, data := range all {
		var o unstructured.Unstructured
		if err := utiljson.Unmarshal(data, &o.Object); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// finishedLine is a line of an index object that has results.
type finishedLine struct {
	Result          string    `json:"result"`
	Of              string    `json:"of"`
	Lines           [][2]int  `json:"lines"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

func (f finishedLine) results(bySegment map[string][]Record) (all []ArchiveResult) {
	if f.UID != "" {
		return []ArchiveResult{{Result: f.Result, UID: f.UID, ResourceVersion: f.ResourceVersion}}
	}
	for _, r := range bySegment[f.Of] {
		for _, lines := range f.Lines {
			if r.Line >= lines[0] && r.Line <= lines[1] {
				all = append(all, ArchiveResult{Result: f.Result, UID: r.Object.GetUID(), ResourceVersion: r.Object.GetResourceVersion()})
			}
		}
	}
	return all
}

// VerifiedBy sets when each segment was first read whole. reads yields each answered read of an object,
// in the order of the answers, with the SHA-256 of the answer.
func (a *Archive) VerifiedBy(reads func(yield func(name, digest string, at time.Time) bool)) {
	at := map[string]time.Time{}
	reads(func(name, digest string, answered time.Time) bool {
		key := path.Base(name)
		if _, known := at[key]; !known && strings.Contains(key, digest) && digest != "" {
			at[key] = answered
		}
		return true
	})
	for i, r := range a.Records {
		a.Records[i].Verified = at[path.Base(r.Segment)]
	}
}

// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestObjectIsDeletedOnceItsRecordIsVerified(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p")
		h.add(r, "one")
		sent := h.server.objects["Job a/one"].json(false)
		bubble.Pass(150 * time.Millisecond)
		expect.Equal(t, "deleted before the segment is written", nil, h.names())
		bubble.Pass(200 * time.Millisecond)
		expect.Equal(t, "deleted", []string{"one"}, h.names())
		record := h.record(h.stores["mem://history"], "one")
		expect.Equal(t, "object", string(sent), string(record.Object))
		expect.Equal(t, "why", "p p Expired uid-cluster", strings.Join([]string{record.Policy, record.Rule, record.Reason, record.Cluster}, " "))
	})
}

func TestManyObjectsShareASegmentAndAListing(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.server.page = 50
		r, names := h.rule("p"), numbered("a", 600)
		for _, name := range names[200:] { // they are due too, and nothing asks for their records yet
			h.know(r, name)
		}
		h.add(r, names[:200]...)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "deleted", baseNames(names[:200]), h.names())
		for _, s := range h.subjects {
			s.attempt()
		}
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted in the end", baseNames(names), h.names())
		expect.Equal(t, "single reads", 0, h.server.count("get Job"))
		expect.Equal(t, "pages", 12, h.server.count("list Job"))
		if n := len(h.stores["mem://history"].segments()); n > 20 {
			t.Errorf("%d segments", n)
		}
	})
}

func TestFewObjectsOfANamespaceShareAListing(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p")
		var names []string
		for i := range 60 {
			names = append(names, fmt.Sprintf("ns%d/job-%d", i%3, i))
		}
		h.add(r, names...)
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "deleted", 60, len(h.names()))
		expect.Equal(t, "listings", 3, h.server.count("list Job"))
		expect.Equal(t, "single reads", 0, h.server.count("get Job"))
	})
}

func TestListingStopsIfSingleReadsAreCheaper(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.server.page = 1
		for _, name := range numbered("z", 2000) {
			h.server.put(jobs, "a/"+strings.TrimPrefix(name, "z/"), "")
		}
		names := numbered("z", 100) // objects with other names, after all others
		for i := range names {
			names[i] = "a/zz" + names[i][2:]
		}
		h.add(h.rule("p"), names...)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", 100, len(h.names()))
		if n := h.server.count("list Job"); n > 700 {
			t.Errorf("%d pages", n)
		}
	})
}

func TestChangedObjectIsNotRecorded(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p")
		s := h.know(r, "one")
		h.server.put(jobs, "one", `,"spec":{"suspend":true}`)
		s.attempt()
		bubble.Pass(2 * time.Second)
		expect.Equal(t, "deleted", nil, h.names())
		expect.Equal(t, "segments", nil, h.stores["mem://history"].segments())
		expect.Equal(t, "result", retention.Changed, s.outcome.Result)
		s.set(func() { s.target = h.server.objects["Job a/one"].target() })
		s.attempt()
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted", []string{"one"}, h.names())
	})
}

func TestObjectThatIsGone(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := h.know(h.rule("p"), "one")
		h.server.delete(s.target)
		s.attempt()
		bubble.Pass(2 * time.Second)
		expect.Equal(t, "result", retention.Gone, s.outcome.Result)
	})
}

func TestUnreadableObjectsStopOnlyTheirNamespace(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.server.refuse = func(_, _, namespace string) error {
			if namespace == "bad" {
				return errors.New("cannot be read")
			}
			return nil
		}
		r := h.rule("p")
		bad := h.add(r, "bad/one", "good/two")[0]
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "deleted", []string{"two"}, h.names())
		expect.Equal(t, "problem", `no record for RetentionArchive "history": read Job bad/one: cannot be read`, bad.problem())
		h.server.mu.Lock()
		h.server.refuse = nil
		h.server.mu.Unlock()
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", []string{"one", "two"}, h.names())
	})
}

// TestStoreFails has stores that fail in different ways. Objects stay until the store works again. Another archive goes on.
func TestStoreFails(t *testing.T) {
	for name, test := range map[string]struct {
		breaks, repairs func(*bucket)
		writable        string
		readable        string
		says            string
	}{
		"no answer": {
			func(b *bucket) { b.refuse = func(string, string) (error, bool) { return errDown, false } }, func(b *bucket) { b.refuse = nil },
			"False Failed", "False Failed", "the store does not answer",
		},
		"the answer is lost": {
			func(b *bucket) { b.refuse = func(string, string) (error, bool) { return errDown, true } }, func(b *bucket) { b.refuse = nil },
			"False Failed", "False Failed", "the store does not answer",
		},
		"credentials revoked": {
			func(b *bucket) { b.wants = "secret" }, func(b *bucket) { b.wants = "" }, "False Failed", "False Failed", "AccessDenied",
		},
		"full: only small objects can be written": {
			func(b *bucket) {
				b.refuse = func(_, name string) (error, bool) {
					if strings.HasPrefix(name, archive.SegmentPrefix) {
						return errors.New("no space left on device"), false
					}
					return nil, true
				}
			}, func(b *bucket) { b.refuse = nil }, "False Failed", "True Succeeded", "no space left on device",
		},
		"full: it has only parts": {
			func(b *bucket) {
				b.refuse = func(string, string) (error, bool) { return fmt.Errorf("no space left: %w", archive.ErrPart), false }
			}, func(b *bucket) { b.refuse = nil }, "False Failed", "False Failed", "no space left",
		},
		"lies: it has other bytes": {
			func(b *bucket) { b.lies = true }, func(b *bucket) { b.lies = false }, "True Succeeded", "False Failed", "not what was written",
		},
		"hangs": {
			func(b *bucket) { b.slow = time.Hour }, func(b *bucket) { b.slow = 0 }, "False Failed", "False Failed", "deadline exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				other := h.addArchive("other")
				bubble.Pass(6 * time.Second)
				b := h.stores["mem://history"]
				b.set(func() { test.breaks(b) })
				s := h.add(h.rule("p"), "one")[0]
				h.add(h.rule("q", func(r *policy.Rule) { r.Archive = &policy.Archive{To: "other"} }), "two")
				bubble.Pass(62 * time.Second)
				expect.Equal(t, "deleted", []string{"two"}, h.names())
				expect.Equal(t, "records in the other archive", 1, len(h.results(other)))
				bubble.Pass(time.Minute)
				expect.Equal(t, "ready", "False ArchiveUnavailable", h.condition("history", v1alpha1.ArchiveReady))
				if err := h.Problem(s.rule); err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("problem: %v", err)
				}
				if test.says != "not what was written" { // it can read back its probes
					expect.Equal(t, "writable", test.writable, h.condition("history", v1alpha1.ArchiveWritable))
					expect.Equal(t, "readable", test.readable, h.condition("history", v1alpha1.ArchiveReadable))
				}
				if s.ready < 1 || !strings.Contains(s.lastProblem(), test.says) {
					t.Errorf("ready %d times, %q", s.ready, s.lastProblem())
				}
				b.set(func() { test.repairs(b) })
				bubble.Pass(100 * time.Second)
				expect.Equal(t, "deleted", []string{"one", "two"}, h.names())
				expect.Equal(t, "ready", "True Available", h.condition("history", v1alpha1.ArchiveReady))
				expect.NoError(t, h.Problem(s.rule))
			})
		})
	}
}

// TestStoreThatFailsForHours: what is deleted afterwards was read shortly before, and search finds each record by its time, which is
// about that of its segment.
func TestStoreThatFailsForHours(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		b.set(func() { b.refuse = func(string, string) (error, bool) { return errDown, false } })
		r := h.rule("p", withPods)
		h.add(r, "one")
		bubble.Pass(time.Second)
		h.server.own(h.server.put(pods, "one-1", ran), h.server.objects["Job a/one"])
		bubble.Pass(10 * time.Minute)
		h.add(r, "two") // its record waits for the next segment
		bubble.Pass(2 * time.Hour)
		b.set(func() { b.refuse = nil })
		bubble.Pass(2 * time.Minute)
		expect.Equal(t, "deleted", []string{"one", "two"}, h.names())
		for _, name := range h.names() {
			if age := time.Since(h.record(b, name).ArchivedAt); age > 2*time.Minute {
				t.Errorf("the newest record of %s is %s old", name, age)
			}
		}
		expect.Equal(t, "dependents", []string{"Pod one-1"}, kindsOf(t, h.record(b, "one").Dependents))
		found, err := (&archive.Reader{Bucket: b}).Find(h.Context(), archive.Query{})
		expect.NoError(h, err)
		for _, record := range found {
			named, err := time.Parse("20060102T150405Z", strings.Split(path.Base(record.Segment), "-")[0])
			expect.NoError(h, err)
			if named.Sub(record.ArchivedAt) > time.Hour {
				t.Errorf("a record of %s, made at %s, is in %s", record.Name, record.ArchivedAt, record.Segment)
			}
		}
	})
}

func TestSlowStoreDelaysAndBatches(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		b.set(func() { b.slow = 5 * time.Second })
		r := h.rule("p")
		h.add(r, "first")
		bubble.Pass(300 * time.Millisecond)
		for _, name := range numbered("a", 80) {
			h.add(r, name)
			bubble.Pass(50 * time.Millisecond)
		}
		bubble.Pass(12 * time.Second)
		expect.Equal(t, "deleted", 81, len(h.names()))
		expect.Equal(t, "segments", 2, len(b.segments()))
	})
}

func TestArchiveDoesNotExist(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := h.add(h.rule("p", func(r *policy.Rule) { r.Archive = &policy.Archive{To: "later"} }), "one")[0]
		bubble.Pass(12 * time.Second)
		expect.Equal(t, "problem", `RetentionArchive "later" does not exist; create it, or correct archive.to of the rule`, s.problem())
		h.addArchive("later")
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "deleted", []string{"one"}, h.names())
	})
}

func TestArchiveThatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*harness)
		says   string
	}{
		"newer": {func(h *harness) { h.unknown = map[string]any{"keyManagement": "kms"} }, `unknown field "spec.keyManagement"`},
		"wrong recipient": {func(h *harness) {
			h.archives[0].Spec.Encryption = &v1alpha1.ArchiveEncryption{Recipients: []string{"age1nothing"}}
		}, "spec.encryption.recipients"},
		"wrong duration": {func(h *harness) { h.archives[0].Spec.Retain = "90x" }, "spec.retain"},
		"short duration": {func(h *harness) { h.archives[0].Spec.Retain = "23h59m" }, "spec.retain: it is shorter than a day"},
		"not listed":     {func(h *harness) { h.unlisted = errDenied }, "cannot be read"},
		"no Secret": {func(h *harness) {
			h.archives[0].Spec.Credentials = &v1alpha1.SecretReference{Namespace: "sunset-system", Name: "store"}
		}, `with the chart, add its name to archive.secrets`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				r := h.rule("p")
				h.add(r, "one")
				bubble.Pass(10 * time.Second)
				expect.Equal(t, "deleted", nil, h.names())
				if err := h.Problem(r); err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("problem %v, want %q", err, test.says)
				}
				if name != "not listed" {
					expect.Equal(t, "ready", "False", strings.Split(h.condition("history", v1alpha1.ArchiveReady), " ")[0])
				}
			}, test.change)
		})
	}
}

func TestArchivesAreReadAgain(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.add(h.rule("p"), "one")
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", nil, h.names())
		h.set(func() { h.unlisted = nil })
		bubble.Pass(15 * time.Second)
		expect.Equal(t, "deleted", []string{"one"}, h.names())
	}, func(h *harness) { h.unlisted = errDenied })
}

func TestCredentialsRotate(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		h.add(h.rule("p"), "one")
		bubble.Pass(time.Second)
		h.set(func() { h.server.credentials = "second" })
		b.set(func() { b.wants = "second" })
		h.add(h.rule("p"), "two")
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "deleted", []string{"one", "two"}, h.names())
	}, func(h *harness) {
		h.archives[0].Spec.Credentials = &v1alpha1.SecretReference{Namespace: "sunset-system", Name: "store"}
		h.server.credentials, h.stores["mem://history"].wants = "first", "first"
	})
}

func TestArchiveIsDeleted(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		b.set(func() { b.slow = 10 * time.Second })
		s := h.add(h.rule("p"), "one")[0]
		bubble.Pass(time.Second)
		h.set(func() { h.archives = nil })
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted", nil, h.names())
		expect.Equal(t, "problem", `RetentionArchive "history" does not exist; create it, or correct archive.to of the rule`, s.problem())
	})
}

func TestReceiptsEndWithTheirArchive(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := h.know(h.rule("p"), "one")
		h.answer = func(*subject) *retention.Outcome { return &retention.Outcome{Result: retention.Busy} }
		s.attempt()
		bubble.Pass(time.Second)
		i, _ := s.Intent()
		_, ok := h.Lookup(i, s.target)
		expect.Equal(t, "receipt", true, ok)
		h.set(func() { h.archives[0].UID = "uid-another"; h.archives[0].Generation = 1 })
		bubble.Pass(6 * time.Second)
		_, ok = h.Lookup(i, s.target)
		expect.Equal(t, "receipt for another RetentionArchive of the same name", false, ok)
	})
}

func TestOnlyTheLeaderWrites(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(time.Second)
		h.set(func() { h.unlead = errors.New("not the leader") })
		h.add(h.rule("p"), "one")
		bubble.Pass(time.Minute)
		expect.Equal(t, "segments", nil, h.stores["mem://history"].segments())
	})
}

func TestResults(t *testing.T) {
	answers := map[string]*retention.Outcome{
		"busy":     {Result: retention.Busy, Err: errDown},
		"changed":  {Result: retention.Changed, Err: errDown},
		"gone":     {Result: retention.Gone, Err: errDown},
		"unsure":   {Result: retention.Failed, Unsure: true, Err: errDown},
		"unsent":   {Result: retention.Failed, Unsent: true, Err: errDown},
		"then":     {Result: retention.Failed, Unsure: true, Err: errDown}, // and then not found
		"conflict": {Result: retention.Failed, Unsure: true, Err: errDown}, // and then changed, such as by the beginning of its deletion
		"accepted": nil,
	}
	inBubble(t, func(h *harness) {
		h.answer = func(s *subject) *retention.Outcome { return answers[s.target.Name] }
		all := h.add(h.rule("p"), keys(answers)...)
		bubble.Pass(time.Second)
		for _, s := range all {
			i, _ := s.Intent()
			switch s.target.Name {
			case "then":
				h.Finish(i, s.target, retention.Outcome{Result: retention.Gone})
			case "conflict":
				h.Finish(i, s.target, retention.Outcome{Result: retention.Changed})
			}
		}
		h.end()
		expect.Equal(t, "results", map[string]archive.Result{
			"accepted": archive.Deleted, "busy": archive.Kept, "changed": archive.Kept, "conflict": archive.Unknown, "gone": archive.Absent,
			"then": archive.Gone, "unsent": archive.Kept, "unsure": archive.Unknown,
		}, h.results(h.stores["mem://history"]))
		h.begin()
	})
}

func TestResultsAreWrittenWithinSeconds(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.add(h.rule("p"), "one")
		bubble.Pass(30 * time.Second)
		expect.Equal(t, "results", map[string]archive.Result{"one": archive.Deleted}, h.results(h.stores["mem://history"]))
	})
}

func TestReceiptExpires(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.answer = func(*subject) *retention.Outcome { return &retention.Outcome{Result: retention.Busy, Err: errDown} }
		s := h.add(h.rule("p"), "one")[0]
		bubble.Pass(50 * time.Minute)
		i, _ := s.Intent()
		_, ok := h.Lookup(i, s.target)
		expect.Equal(t, "receipt", true, ok)
		bubble.Pass(11 * time.Minute)
		_, ok = h.Lookup(i, s.target)
		expect.Equal(t, "receipt after an hour", false, ok)
		expect.Equal(t, "results", map[string]archive.Result{"one": archive.Kept}, h.results(h.stores["mem://history"]))
	})
}

func TestWithdrawnTargetIsNotRead(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.addArchive("slow")
		s := h.know(h.rule("p"), "one")
		h.server.refuse = func(string, string, string) error { return errDown }
		s.attempt()
		bubble.Pass(100 * time.Millisecond)
		i, _ := s.Intent()
		h.set(func() { s.gone = true })
		h.Withdraw(i)
		n := h.server.count("get Job")
		bubble.Pass(time.Minute)
		expect.Equal(t, "reads", n, h.server.count("get Job"))
	})
}

func TestStatusCountsRecords(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.add(h.rule("p"), numbered("a", 30)...)
		bubble.Pass(2 * time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		expect.Equal(t, "records", 35, h.statuses["history"].Records)
	}, func(h *harness) { h.statuses["history"] = v1alpha1.ArchiveStatus{Records: 5} })
}

// lastProblem is what Problem says about the subject's rule, or the error of its last Record.
func (s *subject) lastProblem() string {
	if err := s.Problem(s.rule); err != nil {
		return err.Error()
	}
	return s.problem()
}

// TestNoDeletionWithoutARecord kills the process at each request to the store, before or after it has an effect. Another process
// continues. The harness checks at every DELETE that the record is readable. In the end everything is deleted.
func TestNoDeletionWithoutARecord(t *testing.T) {
	for _, done := range []bool{false, true} {
		for at, more := 1, true; more; at++ {
			t.Run(fmt.Sprintf("request %d, done %t", at, done), func(t *testing.T) {
				inBubble(t, func(h *harness) {
					b, requests, killed := h.stores["mem://history"], 0, make(chan struct{})
					b.set(func() {
						b.refuse = func(string, string) (error, bool) {
							if requests++; requests == at {
								close(killed)
							}
							return map[bool]error{true: errDown}[requests >= at], requests < at || done && requests == at
						}
					})
					r := h.rule("p")
					for n := range 6 {
						h.add(r, fmt.Sprintf("n%d/first", n), fmt.Sprintf("n%d/second", n))
						bubble.Pass(400 * time.Millisecond)
					}
					bubble.Pass(20 * time.Second)
					select {
					case <-killed:
					default: // there were fewer requests
						if more = false; at < 8 {
							t.Errorf("only %d requests", at-1)
						}
						return
					}
					h.set(func() { h.unlead = errors.New("killed") })
					h.end()
					before := h.names()
					b.set(func() { b.refuse = nil })
					h.set(func() { h.unlead = nil })
					h.begin()
					for _, s := range h.subjects {
						s.attempt()
					}
					bubble.Pass(10 * time.Second)
					expect.Equal(t, "deleted in the end", 12, len(h.names()))
					for name, result := range h.results(b) {
						if result == archive.Kept {
							t.Errorf("%s was deleted, and the archive says %q (%d were deleted before)", name, result, len(before))
						}
					}
				})
			})
		}
	}
}

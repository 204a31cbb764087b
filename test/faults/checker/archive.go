// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// archived checks that a DELETE was sent after a record of exactly the version that it names had been read back from the archive of a
// rule that may have decided. Nothing is required if a rule that does not archive may have decided.
func (j *checker) archived(d *removal) {
	if slices.ContainsFunc(d.rules, func(r *rule) bool { return r.Archive == nil }) {
		return
	}
	var why string
	for _, r := range d.rules {
		if why = j.lacksRecord(d, r); why == "" {
			return
		}
	}
	j.violated(Archived, d.request, d.change.Before, d.change.Revision, why)
}

// lacksRecord says why the archive of a rule has no valid record for a DELETE; empty if it has one.
func (j *checker) lacksRecord(d *removal, r *rule) string {
	uid, version := d.request.Preconditions()
	archive := j.Archives[r.Archive.To]
	if archive == nil {
		return fmt.Sprintf("the RetentionArchive %q of rule %s does not exist", r.Archive.To, r.id())
	}
	why := fmt.Sprintf("RetentionArchive %q has no record of resourceVersion %s", r.Archive.To, version)
	for _, record := range archive.Records {
		if record.Object.GetUID() != uid || record.Object.GetResourceVersion() != version {
			continue
		}
		switch at := record.Verified; {
		case at.IsZero():
			why = fmt.Sprintf("segment %s was never read back", record.Segment)
		case at.After(d.sent):
			why = fmt.Sprintf("segment %s was read back %s after the DELETE was sent", record.Segment, at.Sub(d.sent))
		default:
			wrong := j.misrecorded(r, record, d.change.Before)
			if wrong == "" {
				return ""
			}
			why = fmt.Sprintf("line %d of segment %s %s", record.Line, record.Segment, wrong)
		}
	}
	return why
}

// records checks each record, also of objects that were kept: some version of its rule asks for it as it is.
func (j *checker) records() {
	rules := j.archiving()
	for name, archive := range j.Archives {
		for _, record := range archive.Records {
			s, why := j.Log.Version(record.Object.GetUID(), record.Object.GetResourceVersion()), "is of a version that never existed"
			if s != nil {
				why = "is of no rule that archives there"
			}
			for _, r := range rules[record.Policy+"/"+record.Rule] {
				if s == nil || r.Archive.To != name {
					continue
				}
				if why = j.misrecorded(r, record, s); why == "" {
					break
				}
			}
			if why != "" {
				j.violated(Recorded, history.Request{}, s, 0, fmt.Sprintf("line %d of segment %s %s", record.Line, record.Segment, why))
			}
		}
	}
}

// archiving returns all versions of the rules that ever archived, by policy and name.
func (j *checker) archiving() map[string][]*rule {
	all, seen := map[string][]*rule{}, map[*policy]bool{}
	for _, kind := range []schema.GroupKind{clusterKind, teamKind} {
		for _, c := range j.Log.Between(kind, 0, j.Log.Revision) {
			if c.After == nil || !j.Sees(c.After) || seen[j.policyOf(c.After)] {
				continue
			}
			p := j.policyOf(c.After)
			seen[p] = true
			for _, r := range p.rules {
				if r.Archive != nil {
					all[r.id()] = append(all[r.id()], r)
				}
			}
		}
	}
	return all
}

// results checks what archives say about the objects of their records: no existing object is deleted, gone or absent in them, and no
// version that Sunset deleted is kept.
func (j *checker) results() {
	for name, archive := range j.Archives {
		best := map[history.ArchiveResult]bool{}
		for _, r := range archive.Results {
			best[r] = true
		}
		for r := range best {
			end, ended := j.Log.End(r.UID)
			d := j.removals[r.UID]
			with := func(result string) bool {
				return best[history.ArchiveResult{Result: result, UID: r.UID, ResourceVersion: r.ResourceVersion}]
			}
			switch {
			case !ended && (r.Result == "deleted" || r.Result == "gone" || r.Result == "absent"):
				j.resultWrong(name, r, nil, "the object exists")
			case r.Result == "deleted" && end.Before.GetResourceVersion() != r.ResourceVersion:
				j.resultWrong(name, r, end.Before, "another version was deleted: "+end.Before.GetResourceVersion())
			case r.Result == "kept" && d != nil && d.request.Succeeded() && end.Before.GetResourceVersion() == r.ResourceVersion && !with("deleted") && !with("gone"):
				j.resultWrong(name, r, end.Before, "Sunset deleted this version")
			}
		}
	}
}

func (j *checker) resultWrong(archive string, r history.ArchiveResult, s *history.State, why string) {
	j.violated(Recorded, history.Request{}, s, 0,
		fmt.Sprintf("RetentionArchive %q says that resourceVersion %s of UID %s is %s, and %s", archive, r.ResourceVersion, r.UID, r.Result, why))
}

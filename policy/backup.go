// SPDX-License-Identifier: Apache-2.0

package policy

// backupRank says how much the rule backs up before it deletes: the data of a claim counts more than the object.
func (r *Rule) backupRank() (n int) {
	if r.Snapshot != nil {
		n += 2
	}
	if r.Archive != nil {
		n++
	}
	return n
}

// backsUpAll reports whether the rule backs up everything that another one does, in the same way.
func (r *Rule) backsUpAll(o *Rule) bool {
	return (o.Snapshot == nil || r.Snapshot.Equal(o.Snapshot)) && (o.Archive == nil || r.Archive.Equal(o.Archive))
}

// deciding is the vote of the rule that decides about a due subject and deletes it: the latest, unless another one that deletes the same
// object backs up everything that the latest does, and more. So a rule without a backup does not skip the VolumeSnapshot or the archive
// of another.
func (all *votes) deciding() vote {
	v := all.due
	for _, other := range all.backups {
		if other.rule.Owner != all.due.rule.Owner || !other.rule.backsUpAll(all.due.rule) {
			continue
		}
		switch more := other.rule.backupRank() - v.rule.backupRank(); {
		case more > 0:
			v = other
		case more == 0:
			v = later(v, other)
		}
	}
	return v
}

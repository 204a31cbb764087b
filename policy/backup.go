// SPDX-License-Identifier: Apache-2.0

package policy

// backup ranks what the rule backs up before it deletes: the data of a claim counts more than the object.
func (r *Rule) backup() (n int) {
	if r.Snapshot != nil {
		n += 2
	}
	if r.Archive != nil {
		n++
	}
	return n
}

// by is the vote of the rule that decides about a due subject and deletes it: the latest, unless another one that deletes the same
// object backs up more. So a rule that is added never skips a VolumeSnapshot or an archive.
func (all *votes) by() vote {
	by := all.due
	for _, v := range all.backups {
		switch more := v.rule.backup() - by.rule.backup(); {
		case v.rule.Owner != by.rule.Owner:
		case more > 0:
			by = v
		case more == 0:
			by = later(by, v)
		}
	}
	return by
}

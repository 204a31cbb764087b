// Package references knows what refers to ConfigMaps and Secrets.
//
// It promises to follow each change of a referrer at a cost that depends on what that one refers to, not on how much there
// is; and that nothing counts as unreferenced while a kind of referrers is not known completely, or one of them could not be
// read.
//
// It refuses to watch anything and to evaluate CEL: whoever does tells it who refers to what. What an unreferenced object
// comes to is the policy's business.
package references

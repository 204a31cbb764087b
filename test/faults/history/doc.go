// Package history reads what truly happened on a control plane after a test: who asked the API servers for what, from
// their audit logs, and every state that was ever stored, from etcd. It believes no client, Sunset least of all.
//
// It needs API servers that store JSON (--storage-media-type=application/json) and let nobody compact etcd
// (--etcd-compaction-interval=0), and an audit policy that records bodies of writes. It promises an error where one of
// these is missing, never a part of the history for the whole.
package history

// SPDX-License-Identifier: Apache-2.0

// Package history reads what happened on a control plane after a test: the requests to the API servers, from their audit
// logs, and every state that was ever stored, from etcd. It does not trust any client, least of all Sunset.
//
// It needs API servers that store JSON (--storage-media-type=application/json) and do not compact etcd
// (--etcd-compaction-interval=0), and an audit policy that records the bodies of writes. It promises an error if one of these
// is missing; it never returns an incomplete history.
package history

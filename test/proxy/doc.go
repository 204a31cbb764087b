// SPDX-License-Identifier: Apache-2.0

// Package proxy is a proxy that a test puts in front of an API server, to cause errors for a client at a chosen moment.
//
// It promises: requests that match no armed fault pass unchanged, except for two things. Answers are uncompressed JSON, so that
// the proxy can read and edit bodies and watch events; and each request has an ID that the audit log also records. A fault
// affects only the requests that it matches, as often as it is configured to, and counts them. The journal contains every
// request.
//
// It does not check that a fault fired: the test must (see [Armed.Fired]).
package proxy

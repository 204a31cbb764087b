// SPDX-License-Identifier: Apache-2.0

// Package web serves pages to a browser on the same machine. It listens on 127.0.0.1, at a port that the system chooses, and every
// path begins with a random token, so that other users and other sites cannot read the pages. It answers only GET and HEAD, and
// allows no other site to read its answers.
//
// The caller decides what a page shows.
package web

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "errors"

func furnish() error { return errors.New("a nest needs Linux") }

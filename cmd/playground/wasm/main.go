// SPDX-License-Identifier: Apache-2.0

//go:build js && wasm

// Command wasm is the engine of the playground. It sets the global function sunset, which takes a request and returns the
// response, both in JSON. Then it calls the global function sunsetReady, if there is one.
package main

import (
	"context"
	"syscall/js"

	"github.com/sunset-k8s/sunset/cmd/playground"
)

func main() {
	session, err := playground.NewSession()
	if err != nil {
		panic(err)
	}
	js.Global().Set("sunset", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(session.Answer(context.Background(), []byte(args[0].String())))
	}))
	if ready := js.Global().Get("sunsetReady"); ready.Type() == js.TypeFunction {
		ready.Invoke()
	}
	select {}
}

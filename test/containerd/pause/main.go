// SPDX-License-Identifier: Apache-2.0

// Command pause is the first process of containers, and of the nest in which test/containerd runs a runtime.
//
//	pause        waits for SIGTERM or SIGINT
//	pause exit   ends at once
//	pause nest   mounts what a nest needs, says "ready" and waits to be killed
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "exit":
			return
		case "nest":
			if err := furnish(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("ready")
		}
	}
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap waits for ended children. The first process of a PID namespace inherits them from all others.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// sizes prints the size of its terminal, and again whenever it is told of another, until
// a line is typed. A shell's trap would miss what comes while it runs.
func sizes([]string) error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, unix.SIGWINCH)
	typed := make(chan error, 1)
	// ends with the first line, or the process.
	go func() {
		_, err := os.Stdin.Read(make([]byte, 80))
		typed <- err
	}()
	for {
		w, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err != nil {
			return err
		}
		fmt.Println(w.Row, w.Col)
		select {
		case <-told:
		case err := <-typed:
			return err
		}
	}
}

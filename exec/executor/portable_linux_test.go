// SPDX-License-Identifier: Apache-2.0

//go:build portable

package executor

// terminals are those that commands can have.
var terminals = []*Winsize{nil}

const (
	noNewPrivs = "0"
	signals    = "SigBlk" // that are none; macOS has none beyond 31, as libc on Linux has
	cleared    = ""       // what has lost both its parent and its mark is not found
)

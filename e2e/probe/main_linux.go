// SPDX-License-Identifier: Apache-2.0

// Command probe is the static helper of the end-to-end tests. It runs on both sides. On the host it is a
// command that reports how it was started. In containers, also in empty ones, it makes calls that a shell
// cannot make.
//
// Its invariant: it reports facts, as text or JSON on stdout. Only the tests decide whether these are right.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// modes are what probe can do, by the word after its name.
var modes = map[string]func(args []string) error{
	"agent":       agent,
	"args":        showArgs,
	"relay":       relay,
	"report":      report,
	"fds":         showFDs,
	"exit":        exit,
	"flood":       flood,
	"print":       printArgs,
	"hold":        holdOn,
	"hostile":     hostile,
	"http":        overHTTP,
	"pid":         showPID,
	"tree":        tree,
	"grow":        processTree,
	"euid":        showEUID,
	"cat":         cat,
	"exec":        execute,
	"fuse":        fuse,
	"key":         key,
	"leaf":        leaf,
	"nolandlock":  noLandlock,
	"daemon":      daemon,
	"gen":         generate,
	"count":       count,
	"inflight":    inflight,
	"ptscall":     ptscall,
	"splice":      splice,
	"inodes":      inodes,
	"load":        load,
	"work":        work,
	"burst":       burst,
	"calls":       calls,
	"crowd":       crowd,
	"idle":        idle,
	"send":        send,
	"silent":      silent,
	"talk":        talk,
	"sizes":       sizes,
	"times":       times,
	"through":     through,
	"inotifywait": inotifywait,
}

func main() {
	args := os.Args[1:]
	if len(args) == 0 || modes[args[0]] == nil {
		names := []string{}
		for name := range modes {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: probe MODE [ARG...], where MODE is one of %v\n", names)
		os.Exit(64)
	}
	if err := modes[args[0]](args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "probe: %s: %v\n", args[0], err)
		os.Exit(65)
	}
}

// show prints v as JSON in one line.
func show(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

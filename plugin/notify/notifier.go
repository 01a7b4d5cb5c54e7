// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Notifier tells a person by programs of the host's that requests wait: by the desktop's,
// by one that they have named, or both. Its zero value tells nobody. One Tell at a time.
type Notifier struct {
	Command []string // argv, run without a shell; HOSTEXEC_PENDING and HOSTEXEC_SESSION say what for
	Desktop []string // the argv that Desktop returns; only a number is ever put into it
	Session string
	Run     Runner
}

// Runner runs a program to its end, with env beside this process's own. An error says that
// it failed. When ctx ends so does the program.
type Runner func(ctx context.Context, argv, env []string) error

// patience is how long a program may take to tell somebody.
const patience = 10 * time.Second

// Reachable reports whether there is a program that may reach somebody.
func (n *Notifier) Reachable() bool { return len(n.Command)+len(n.Desktop) > 0 }

// Programs returns what n runs.
func (n *Notifier) Programs() (paths []string) {
	for _, argv := range [][]string{n.Command, n.Desktop} {
		if len(argv) > 0 {
			paths = append(paths, argv[0])
		}
	}
	return paths
}

// Tell tells that so many requests wait. It succeeds if one of the programs does.
func (n *Notifier) Tell(ctx context.Context, waiting int) error {
	if !n.Reachable() {
		return errors.New("there is nobody to notify")
	}
	var errs []error
	told := false
	tell := func(argv []string, env ...string) {
		if len(argv) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := n.Run(ctx, argv, env); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", argv[0], err))
			return
		}
		told = true
	}
	tell(n.Command, "HOSTEXEC_PENDING="+strconv.Itoa(waiting), "HOSTEXEC_SESSION="+n.Session)
	tell(text(n.Desktop, waiting))
	if told {
		return nil
	}
	return errors.Join(errs...)
}

// Look finds a program on path, in its absolute directories only: the others mean where the
// session was started, which a container may often write.
func Look(name, path string) (string, bool) {
	if filepath.IsAbs(name) {
		p, err := exec.LookPath(name)
		return p, err == nil
	}
	if filepath.Base(name) != name {
		return "", false
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, true
		}
	}
	return "", false
}

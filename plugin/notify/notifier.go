// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Notifier notifies the user of waiting requests through host programs: the desktop's, a configured one,
// or both. The zero value notifies nobody. Concurrent calls of Notify are not allowed.
type Notifier struct {
	Command []string // argv, run without a shell, with HOSTEXEC_PENDING and HOSTEXEC_SESSION in its environment
	Desktop []string // the argv that Desktop returns; only a number with fixed words is inserted into it
	Session string
	Run     Runner
}

// Runner runs a program to its end, with env in addition to the environment of the commands of calls. It returns an
// error if the program fails. The program ends when ctx ends.
type Runner func(ctx context.Context, argv, env []string) error

// programTimeout is the time limit for a notification program.
const programTimeout = 10 * time.Second

// Reachable reports whether there is a notification program.
func (n *Notifier) Reachable() bool { return len(n.Command)+len(n.Desktop) > 0 }

// Programs returns the programs that n runs.
func (n *Notifier) Programs() (paths []string) {
	for _, argv := range [][]string{n.Command, n.Desktop} {
		if len(argv) > 0 {
			paths = append(paths, argv[0])
		}
	}
	return paths
}

// Notify notifies the user of the number of waiting requests. It succeeds if one of the programs does.
func (n *Notifier) Notify(ctx context.Context, waiting int) error {
	if !n.Reachable() {
		return errors.New("there is nobody to notify")
	}
	var errs []error
	succeeded := false
	notify := func(argv []string, env ...string) {
		if len(argv) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, programTimeout)
		defer cancel()
		if err := n.Run(ctx, argv, env); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", argv[0], err))
			return
		}
		succeeded = true
	}
	notify(n.Command, "HOSTEXEC_PENDING="+strconv.Itoa(waiting), "HOSTEXEC_SESSION="+n.Session)
	notify(fillCount(n.Desktop, waiting))
	if succeeded {
		return nil
	}
	return errors.Join(errs...)
}

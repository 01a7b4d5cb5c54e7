// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Notify is how a person is told that a request waits. The zero value rings the bell of
// the terminal that the session was started on, and notifies on the desktop, if there is
// one.
type Notify struct {
	Command []string // a program and its arguments, run without a shell; nil is none
	Desktop *bool    // nil: where there is one
	Bell    *bool    // nil: yes
}

// newQueue returns the session's queue of questions, with the grants that it had before.
func (w *Watcher) newQueue() *approval.Queue {
	q := &approval.Queue{
		CanNotify: notify.Terminal(w.rec.Terminal).Open,
		Notifies:  w.notifier.Reachable(),
		File:      state.GrantsFile(w.Dir),
	}
	if err := q.Load(w.rec.ID); err != nil {
		w.log.Error("no grant of before holds", "error", err)
	}
	return q
}

// newNotifier returns what runs the programs that w.Notify wants, those that there are.
// They are found now, before the container runs.
func (w *Watcher) newNotifier(host *executor.Host) notify.Notifier {
	n := notify.Notifier{Session: w.rec.ID, Run: w.runner(host)}
	getenv := os.Getenv
	if w.rec.Proxy != nil { // who makes requests may have been there before
		owner, _ := mount.NewTable(Requested(w.rec), mount.Default{}) // it fails only for a Default with a directory
		own, _ := executor.Path(os.Getenv("PATH"), owner)
		getenv = func(name string) string {
			if name == "PATH" {
				return own
			}
			return os.Getenv(name)
		}
	}
	if wanted(w.Notify.Desktop) {
		n.Desktop = notify.Desktop(runtime.GOOS, getenv)
	}
	if len(w.Notify.Command) > 0 {
		if path, ok := osenv.LookPath(w.Notify.Command[0], getenv("PATH")); ok {
			n.Command = append([]string{path}, w.Notify.Command[1:]...)
		} else {
			w.log.Error("notify.command is not found in PATH", "command", w.Notify.Command[0])
		}
	}
	return n
}

func wanted(option *bool) bool { return option == nil || *option }

// runner runs programs as calls run: in a tree that ends whole, with nothing on its
// descriptors, and in the environment of one. So whatever they do, they approve nothing.
func (w *Watcher) runner(host *executor.Host) notify.Runner {
	return func(ctx context.Context, argv, env []string) error {
		root, err := os.Open("/")
		if err != nil {
			return err
		}
		defer root.Close()
		if sc := w.server.State(); sc != nil { // there is one before there are requests
			env = slices.Concat(sc.Environ, env)
		}
		cmd := executor.Command{ID: state.NewID(), Path: argv[0], Args: argv, Env: env, Dir: int(root.Fd())}
		st, err := host.Run(ctx, cmd, executor.Streams{FD: [3]int{-1, -1, -1}})
		if err == nil && st.Code != 0 {
			err = fmt.Errorf("it exited with %d", st.Code)
		}
		return err
	}
}

// announce tells of questions whenever there is one that was not there before, until ctx
// is done. What comes while somebody is being told is told of at once, by one number.
func (w *Watcher) announce(ctx context.Context) {
	known := map[string]bool{}
	for {
		changed := w.queue.Changed()
		now := map[string]bool{}
		var fresh []string
		for _, q := range w.queue.Pending() {
			if now[q.ID] = true; !known[q.ID] {
				fresh = append(fresh, q.ID)
			}
		}
		known = now
		if len(fresh) > 0 {
			w.notify(ctx, fresh, len(now))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// notify rings and notifies. Questions that reach nobody are not left waiting.
func (w *Watcher) notify(ctx context.Context, fresh []string, waiting int) {
	if wanted(w.Notify.Bell) {
		notify.Terminal(w.rec.Terminal).Bell()
	}
	if !w.notifier.Reachable() {
		return
	}
	if err := w.notifier.Notify(ctx, waiting); err != nil {
		w.log.Warn("notify", "error", err)
		w.queue.NotificationFailed(fresh)
	}
}

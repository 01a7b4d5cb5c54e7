// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Questions holds the questions of the session, and notifies the user of them.
type Questions struct {
	Notifier notify.Notifier

	queue    *approval.Queue
	options  config.Notify
	terminal notify.Terminal // where the session was started
	log      *slog.Logger
}

// newQuestions returns the session's questions, with the grants and denials that it had before. run runs the notifier.
func newQuestions(record *Record, options config.Notify, others *OtherSessions, run notify.Runner, log *slog.Logger) *Questions {
	q := &Questions{Notifier: NewNotifier(*record.Session(), options, others, log), options: options, terminal: notify.Terminal(record.Session().Terminal), log: log}
	q.Notifier.Run = run
	q.queue = &approval.Queue{CanNotify: q.terminal.IsOpen, Notifies: q.Notifier.Reachable()}
	if err := q.queue.LoadDenials(state.DenialsFile(record.Dir), record.ID); err != nil { // a grant may cover what was denied
		log.Error("earlier grants and denials are not in force", "error", err)
	} else if err := q.queue.LoadGrants(state.GrantsFile(record.Dir), record.ID); err != nil {
		log.Error("earlier grants are not in force", "error", err)
	}
	return q
}

// NewNotifier looks up the programs of options, before the container runs. It skips directories of PATH that containers
// of other sessions, or callers of a proxy, can write. It does not check absolute paths.
func NewNotifier(rec state.Session, options config.Notify, others *OtherSessions, log *slog.Logger) notify.Notifier {
	n := notify.Notifier{Session: rec.ID}
	getenv := os.Getenv
	access := mount.WritableTable(nil)
	if rec.Proxy != nil { // another process may have made requests before
		access.AddWritable(WritableByCallers(rec))
	}
	others.AddTo(access)
	if own, left := hostcode.Path(os.Getenv("PATH"), access); len(left) > 0 {
		getenv = func(name string) string {
			if name == "PATH" {
				return own
			}
			return os.Getenv(name)
		}
	}
	if enabled(options.Desktop) {
		n.Desktop = notify.Desktop(runtime.GOOS, getenv)
	}
	if len(options.Command) > 0 {
		if path, ok := osenv.LookPath(options.Command[0], getenv("PATH")); ok {
			n.Command = append([]string{path}, options.Command[1:]...)
		} else {
			log.Error("notify.command is not found in PATH", "command", options.Command[0])
		}
	}
	return n
}

// WritableNotifier returns a file in notify.command that is writable according to access. A request of a container
// starts this command without a question, so a file that its interpreter reads is as dangerous as the program.
func WritableNotifier(n notify.Notifier, access hostcode.ContainerAccess) (at string, ok bool) {
	for _, word := range n.Command {
		if at, ok = hostcode.WritablePath(word, access); ok {
			return at, true
		}
	}
	return "", false
}

// notifierRunner runs notifiers as calls run: in a process tree that ends as a whole, without descriptors, and in the
// environment of calls. So a notifier has nothing with which it could approve a request.
func (c *Calls) notifierRunner(host *executor.Host) notify.Runner {
	return func(ctx context.Context, argv, env []string) error {
		root, err := os.Open("/")
		if err != nil {
			return err
		}
		defer root.Close()
		if sc := c.Server.Config(); sc != nil { // nil until calls are configured
			env = slices.Concat(sc.HostEnviron(), env)
		}
		cmd := executor.Command{ID: state.NewID(), Path: argv[0], Args: argv, Env: env, Dir: int(root.Fd())}
		st, err := host.Run(ctx, cmd, executor.Streams{FD: [3]int{-1, -1, -1}})
		if err == nil && st.Code != 0 {
			err = fmt.Errorf("it exited with %d", st.Code)
		}
		return err
	}
}

func enabled(option *bool) bool { return option == nil || *option }

// announce notifies of new questions until ctx is done. Questions that arrive during a notification are
// announced together afterwards, by their number.
func (q *Questions) announce(ctx context.Context) {
	known := map[string]bool{}
	for {
		changed := q.queue.Changed()
		now := map[string]bool{}
		var fresh []string
		for _, q := range q.queue.Pending() {
			if now[q.ID] = true; !known[q.ID] {
				fresh = append(fresh, q.ID)
			}
		}
		known = now
		if len(fresh) > 0 {
			q.notify(ctx, fresh, len(now))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// notify beeps on the terminal and runs the notifiers. If all of these fail, and nobody else can be notified, the
// questions are refused.
func (q *Questions) notify(ctx context.Context, fresh []string, waiting int) {
	if enabled(q.options.Bell) {
		q.terminal.Bell()
	}
	if !q.Notifier.Reachable() {
		return
	}
	if err := q.Notifier.Notify(ctx, waiting); err != nil {
		q.log.Warn("notify the user of a question", "error", err)
		q.queue.NotificationFailed(fresh)
	}
}

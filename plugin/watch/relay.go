// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/relay"
	callcontainer "github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const (
	// minRetry and later are the shortest and the longest pause before another relay is tried.
	minRetry = 50 * time.Millisecond
	maxRetry = time.Second
	// arrivalTimeout is how long a connection may take that the relay says it has made.
	arrivalTimeout = 5 * time.Second
)

// keepRelay keeps a relay in container id for as long as it runs, and after it was started
// again. It returns when ctx is done, or the socket turns out to do.
func (w *Watcher) keepRelay(ctx context.Context, api Engine, id string) {
	wait, last := minRetry, ""
	for {
		was, began := w.transport.Load(), time.Now()
		err := w.relayOnce(ctx, api, id, func(socket bool) error { return w.relayUp(ctx, api, socket) })
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errSocketWorks) {
			w.socketWorks(ctx, api)
			return
		}
		if w.transport.Load() != was { // it was up
			if time.Since(began) > maxRetry { // else whoever is in the container could have us begin execs without end
				wait = minRetry
			}
			w.decide(transport{carrier.Undecided, "the relay has ended, and another one is on its way"})
		}
		if text := err.Error(); text != last && !errdefs.IsConflict(err) && !errdefs.IsNotFound(err) { // it does not run
			last = text
			w.log.Info("relay", "error", err)
			w.decide(transport{carrier.Undecided, text})
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, maxRetry)
	}
}

// relayOnce runs one relay to its end, and says why it ended. It calls up when that is ready.
func (w *Watcher) relayOnce(ctx context.Context, api Engine, id string, up func(socket bool) error) error {
	if w.rec.Attached { // else it is mounted
		if err := RootsAlone(ctx, api, id); err != nil {
			return err
		}
	}
	exec, err := api.ContainerExecCreate(ctx, id, container.ExecOptions{
		User: "0", WorkingDir: "/", AttachStdin: true, AttachStdout: true,
		Cmd: []string{state.Target + "/bin/hostexec", "relay", state.Target},
	})
	if err != nil {
		return err
	}
	at, err := callcontainer.Attach(ctx, func(ctx context.Context) (types.HijackedResponse, error) {
		return api.ContainerExecAttach(ctx, exec.ID, container.ExecAttachOptions{})
	})
	if err != nil {
		return err
	}
	stream := execStream{at, relay.Stdout(at.Reader)}
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	return w.relay.Serve(stream, up, func() bool { return exited(ctx, api, exec.ID) })
}

// exited reports whether the process of an exec has ended. An engine that does not answer says
// nothing of it.
func exited(ctx context.Context, api Engine, exec string) bool {
	ctx, cancel := context.WithTimeout(ctx, arrivalTimeout)
	defer cancel()
	st, err := api.ContainerExecInspect(ctx, exec)
	return errdefs.IsNotFound(err) || err == nil && !st.Running
}

// relayUp decides for the relay, unless the socket does: then no relay is needed.
func (w *Watcher) relayUp(ctx context.Context, api Engine, socket bool) error {
	switch {
	case w.rec.Attached:
		w.decide(transport{carrier.ByRelay, "the container was attached while it ran, and has no share"})
		return nil
	case w.rec.RemoteFiles:
		w.decide(transport{carrier.ByRelay, "the engine does not see this host's directories"})
		w.noteEngine(ctx, api, state.Engine{Carrier: carrier.ByRelay, RemoteFiles: true})
		return nil
	case w.rec.Carrier == carrier.ByRelay:
		w.decide(transport{carrier.ByRelay, "it was asked for"})
		return nil
	}
	if socket { // the container says so, but only an arrival is proof
		timeout := time.NewTimer(arrivalTimeout)
		defer timeout.Stop()
		select {
		case <-w.connected:
			return errSocketWorks
		case <-timeout.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	w.decide(transport{carrier.ByRelay, "no socket of this host crosses into the container"})
	w.noteEngine(ctx, api, state.Engine{Carrier: carrier.ByRelay})
	return nil
}

// execStream is an exec's stdin and stdout.
type execStream struct {
	at  types.HijackedResponse
	out io.Reader
}

func (s execStream) Read(p []byte) (int, error)  { return s.out.Read(p) }
func (s execStream) Write(p []byte) (int, error) { return s.at.Conn.Write(p) }

// Close ends the relay, too: it goes at the end of its stdin.
func (s execStream) Close() error { return s.at.Conn.Close() }

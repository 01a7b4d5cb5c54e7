// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Between run and the watcher goes one line at a time:
//
//	run -> watcher    recorded               the session's folder and record are there
//	run <- watcher    ready                  calls are accepted
//	run -> watcher    http JSON              listen there for HTTP, a Gateway
//	run <- watcher    listening ADDRESS      it does
//	run -> watcher    inspected JSON         what the engine says of the container that comes next
//	run -> watcher    container ID [VOLUME]  this one was created and is not started yet; it has the volume for a share
//	run <- watcher    warn TEXT ...          what the user should know of its mounts
//	run <- watcher    where TEXT             in which directories of this host commands run
//	run <- watcher    bound                  it may start
//	run -> watcher    done | abort           run has ended: the container stays | there is none
//	run <- watcher    error TEXT             instead of any of the above
//
// and where the session is an agent's, which ends with its caller:
//
//	run -> watcher    over                   instead of done: its container has ended, and so does the session
//	run -> watcher    process JSON           instead of container: this is to run here, a Process
//	run -> watcher    stop                   it is to end
//	run <- watcher    exited CODE            it has
//	run <- watcher    stopping               the container is being stopped, because somebody stops the session
//
// A proxy has no container: after ready comes nothing but
//
//	proxy -> watcher  drain                  end when the calls in flight have
//
// A stream that ends with none of done, abort and over means that run was killed. The watcher
// of an agent ends it early when it stays behind with jobs that are kept.

// Link is run's end. Its methods are called one after the other.
type Link struct {
	f        *os.File
	r        *bufio.Reader
	warnings []string
	where    string

	once     sync.Once
	gone     chan struct{} // see Gone
	stopping atomic.Bool   // see Stopping
}

// Recorded tells the watcher that the session's record is there. From then on what run
// asks the engine for is cleaned up after it.
func (l *Link) Recorded() error {
	if _, err := l.f.WriteString("recorded\n"); err != nil {
		return fmt.Errorf("start watcher: %w", err)
	}
	return nil
}

// Ready returns when the watcher serves. ctx bounds the waiting; a link whose ctx is done
// is closed.
func (l *Link) Ready(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { l.f.Close() })
	err := l.await("ready")
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("start watcher: %w", err)
	}
	return nil
}

// Inspected tells the watcher, before Bind, what the engine has said of a container that was just created: while
// something is copied into that the engine says it nobody else.
func (l *Link) Inspected(raw []byte) error {
	var line bytes.Buffer
	line.WriteString("inspected ")
	if err := json.Compact(&line, raw); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	line.WriteByte('\n')
	if _, err := l.f.Write(line.Bytes()); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	return nil
}

// Bind tells the watcher which container the session is for, before it starts, and which
// volume it has in place of the share; the empty one is none. It returns the watcher's
// objections to the container's mounts, if it has any.
func (l *Link) Bind(container, volume string) error {
	if _, err := fmt.Fprintln(l.f, strings.TrimSpace("container "+container+" "+volume)); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	return l.await("bound")
}

// Warnings returns what Bind found that does not stand in the way but should be known.
func (l *Link) Warnings() []string { return l.warnings }

// Where says in which directories of this host commands run, for people. Bind finds them.
func (l *Link) Where() string { return l.where }

// Done ends the link: the session goes on without run, if its container does.
func (l *Link) Done() error { return l.end("done\n") }

// Over ends the link and the session, whose container has ended, and returns when the
// watcher has gone, or ctx is done.
func (l *Link) Over(ctx context.Context) error {
	defer l.f.Close()
	if _, err := l.f.WriteString("over\n"); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	select {
	case <-l.Gone():
	case <-ctx.Done():
	}
	return nil
}

// Gone returns a channel that is closed when the watcher has gone. Only Over, Done and
// Close are called after it.
func (l *Link) Gone() <-chan struct{} {
	l.once.Do(func() {
		l.gone = make(chan struct{})
		// ends when the watcher does, or with the link.
		go func() {
			defer close(l.gone)
			for {
				line, err := l.r.ReadString('\n')
				if err != nil {
					return
				}
				if line == "stopping\n" {
					l.stopping.Store(true)
				}
			}
		}()
	})
	return l.gone
}

// Stopping reports whether somebody stops the session of an agent, and so its container. It is valid
// after Gone was called.
func (l *Link) Stopping() bool { return l.stopping.Load() }

// Close ends the link and the session: there is no container.
func (l *Link) Close() error { return l.end("abort\n") }

// Drain asks a session without a container to end when its calls have. It does not wait.
func (l *Link) Drain() error {
	if _, err := l.f.WriteString("drain\n"); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	return nil
}

// Ended returns when the watcher is gone. Nothing more is expected of it.
func (l *Link) Ended() { io.Copy(io.Discard, l.r) }

func (l *Link) end(word string) error {
	_, err := l.f.WriteString(word)
	if err = errors.Join(err, l.f.Close()); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	return nil
}

// errEnded says that the watcher has gone before its time.
var errEnded = errors.New("the watcher ended: docker hostexec logs may tell why")

// await reads lines until want comes.
func (l *Link) await(want string) error {
	_, err := l.awaitValue(want)
	return err
}

// awaitValue is await for a word that something comes with.
func (l *Link) awaitValue(want string) (string, error) {
	for {
		s, err := l.r.ReadString('\n')
		if err != nil {
			return "", errEnded
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(s, "\n"), " ")
		text, _ := strconv.Unquote(rest)
		switch word {
		case want:
			return rest, nil
		case "warn":
			l.warnings = append(l.warnings, text)
		case "where":
			l.where = text
		case "error":
			return "", errors.New(text)
		}
	}
}

// Launcher is the watcher's end of a Link. At the other end is the process that starts the session: run, attach, an
// agent, or proxy.
type Launcher struct {
	f      *os.File
	Lines  chan string // closed when run has gone; it ends with "" if it was killed
	closed chan struct{}
	reader sync.WaitGroup
}

// maxLine is more than an agent's arguments and environment can have: the kernel takes less.
const maxLine = 16 << 20

func newLauncher(f *os.File) *Launcher {
	u := &Launcher{f: f, Lines: make(chan string), closed: make(chan struct{})}
	// ends when run closes its end or close closes ours.
	u.reader.Go(u.read)
	return u
}

func (u *Launcher) read() {
	defer close(u.Lines)
	in := bufio.NewScanner(u.f)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		select {
		case u.Lines <- in.Text():
		case <-u.closed:
			return
		}
	}
}

// recorded waits for the session's record; it reports false when there will be none.
func (u *Launcher) recorded(ctx context.Context) bool {
	select {
	case line := <-u.Lines:
		return line == "recorded"
	case <-ctx.Done():
		return false
	}
}

// Stopping says that the container is being stopped, because somebody stops the session.
func (u *Launcher) Stopping() { fmt.Fprintln(u.f, "stopping") }

// Ready says that calls are accepted.
func (u *Launcher) Ready() { fmt.Fprintln(u.f, "ready") }

// Bound says that the container may start, what should be known of its mounts, and where commands run.
func (u *Launcher) Bound(warnings []string, where string) {
	u.Warn(warnings)
	fmt.Fprintln(u.f, "where", strconv.Quote(where))
	fmt.Fprintln(u.f, "bound")
}

// Warn says what should be known of the session.
func (u *Launcher) Warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(u.f, "warn", strconv.Quote(w))
	}
}

// Fail says why the session cannot be served.
func (u *Launcher) Fail(err error) { fmt.Fprintln(u.f, "error", strconv.Quote(err.Error())) }

// LetGo ends the link before the watcher does: run need not wait for that.
func (u *Launcher) LetGo() { u.f.Close() }

func (u *Launcher) close() {
	u.f.Close()
	close(u.closed)
	u.reader.Wait()
}

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
	"time"
)

// Messages between the launcher, such as run, and the watcher are lines:
//
//	launcher -> watcher  recorded               the session's directory and record exist
//	launcher <- watcher  ready                  calls are accepted
//	launcher -> watcher  http JSON              listen for HTTP at this Gateway
//	launcher <- watcher  listening ADDRESS      the watcher listens there
//	launcher -> watcher  inspected JSON         the engine's description of the next container
//	launcher -> watcher  container ID [VOLUME]  a created container, and the volume in place of a share
//	launcher <- watcher  warn TEXT ...          warnings about its mounts
//	launcher <- watcher  where TEXT             the directories of this host in which commands run
//	launcher <- watcher  writable TEXT ...      the directories of this host that the container can write
//	launcher <- watcher  bound                  the container may start
//	launcher -> watcher  done | abort           the launcher has ended: the container stays | there is none
//	launcher <- watcher  error TEXT             instead of any of the above
//
// The session of an agent ends with its caller. It has these messages, too:
//
//	launcher -> watcher  over                   instead of done: the container has ended, so the session ends
//	launcher -> watcher  process JSON           instead of container: run this Process on the host
//	launcher -> watcher  stop                   end the process
//	launcher <- watcher  exited CODE            the process has ended
//	launcher <- watcher  stopping               the container is being stopped, because a user stops the session
//
// A proxy has no container. Its watcher may send warn at any time. After ready, the launcher sends only abort, or
//
//	launcher -> watcher  drain                  end after the calls in flight
//
// A watcher that ends because it was asked to sends, as its last message,
//
//	launcher <- watcher  ended
//
// If the stream ends without done, abort or over, the launcher was killed. The watcher of an agent closes the stream
// early if it continues with kept jobs.

// Conn is the launcher's end of the connection to a watcher. The launcher is the process that starts or resumes the
// session, such as run, agent, proxy, with or resume. Call the methods from one goroutine, except for WaitEnd, which
// may run at the same time as Drain or Close.
type Conn struct {
	f           *os.File
	r           *bufio.Reader
	warnings    []string
	warned      func(text string) // gets later warnings; nil: they are added to warnings
	commandDirs string
	writable    []string

	once     sync.Once
	exited   chan struct{} // see Exited
	stopping atomic.Bool   // see Stopping
	failure  error         // see Failure
}

// send sends one message.
func (c *Conn) send(format string, args ...any) error {
	if _, err := fmt.Fprintf(c.f, format+"\n", args...); err != nil {
		return fmt.Errorf("send to the watcher: %w", err)
	}
	return nil
}

// Recorded reports that the session's record exists. From then on, the watcher removes the objects that the launcher
// has created at the engine, if the launcher fails or is killed before Bind.
func (c *Conn) Recorded() error {
	if _, err := c.f.WriteString("recorded\n"); err != nil {
		return fmt.Errorf("start watcher: %w", err)
	}
	return nil
}

// Ready returns when the watcher serves. ctx limits the wait.
func (c *Conn) Ready(ctx context.Context) error {
	_, err := c.exchange(ctx, "ready", func() error { return nil })
	if err != nil {
		return fmt.Errorf("start watcher: %w", err)
	}
	return nil
}

// exchange sends a message, and waits for the answer want, whose value it returns. If ctx ends first, exchange returns
// the cause. Then only Done, Close, Abort and EndSession may be called: their message ends the wait of a watcher whose
// file system does not answer.
func (c *Conn) exchange(ctx context.Context, want string, send func() error) (string, error) {
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.f.SetDeadline(time.Now())
		close(expired)
	})
	err := send()
	value := ""
	if err == nil {
		value, err = c.awaitValue(want)
	}
	if !stop() {
		<-expired
		c.f.SetDeadline(time.Time{})
		return "", context.Cause(ctx)
	}
	return value, err
}

// Inspected passes the engine's description of a container that was just created to the watcher, before Bind.
// The engine does not answer another inspect while files are copied into the container.
func (c *Conn) Inspected(raw []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return fmt.Errorf("send to the watcher: %w", err)
	}
	return c.send("inspected %s", line.Bytes())
}

// Bind sends the watcher the id of the session's container, and the volume in place of the share, or "". A new
// container starts only after Bind. It returns an error if the watcher refuses the container's mounts. ctx limits the
// wait.
func (c *Conn) Bind(ctx context.Context, container, volume string) error {
	_, err := c.exchange(ctx, "bound", func() error {
		return c.send("%s", strings.TrimSpace("container "+container+" "+volume))
	})
	return err
}

// Warnings returns the warnings that the watcher has sent during Ready and Bind.
func (c *Conn) Warnings() []string { return c.warnings }

// CommandDirs returns the directories of this host in which commands run, as text for people. Bind finds them.
func (c *Conn) CommandDirs() string { return c.commandDirs }

// Writable returns the directories of this host that the container can write, without the session's own. Bind finds
// them.
func (c *Conn) Writable() []string { return c.writable }

// Done ends the connection. The session continues if its container does.
func (c *Conn) Done() error { return c.end("done") }

// EndTimeout is the time for which a launcher waits for a watcher to exit. The watcher may take longer. When it exits,
// its keeper ends remaining processes.
const EndTimeout = 2 * time.Second

// EndSession ends the connection. It also ends the session, whose container has ended, unless kept jobs run and no user
// has stopped it. It returns when Exited is closed, or ctx is done.
func (c *Conn) EndSession(ctx context.Context) error { return c.endAndWait(ctx, "over") }

func (c *Conn) endAndWait(ctx context.Context, word string) error {
	defer c.f.Close()
	if err := c.send("%s", word); err != nil {
		return err
	}
	select {
	case <-c.Exited():
	case <-ctx.Done():
	}
	return nil
}

// Exited returns a channel that is closed when the watcher has exited, or has closed the connection and continues only
// with kept jobs. After Exited, call only Stopping, Failure, EndSession, Done and Close.
func (c *Conn) Exited() <-chan struct{} {
	c.once.Do(func() {
		c.exited = make(chan struct{})
		// ends when the watcher does, or with the connection.
		go func() {
			defer close(c.exited)
			for {
				switch _, err := c.awaitValue("stopping"); {
				case err == nil:
					c.stopping.Store(true)
				case errors.Is(err, errEnded):
					return
				default:
					c.failure = err
				}
			}
		}()
	})
	return c.exited
}

// Stopping reports whether a user stops the session of an agent, and so its container. It is valid after Exited
// was called.
func (c *Conn) Stopping() bool { return c.stopping.Load() }

// Failure returns the reason that the watcher gave for its exit, or nil. It is valid after the channel of Exited is
// closed.
func (c *Conn) Failure() error { return c.failure }

// Close ends the connection and the session: there is no container.
func (c *Conn) Close() error { return c.end("abort") }

// Abort is like Close, and then waits until the watcher has exited and writes no more files. It waits at most for
// EndTimeout.
func (c *Conn) Abort() {
	ctx, cancel := context.WithTimeout(context.Background(), EndTimeout)
	defer cancel()
	_ = c.endAndWait(ctx, "abort") // fails if the watcher has ended
}

// Drain asks a session without a container to end when its calls have. It does not wait.
func (c *Conn) Drain() error { return c.send("drain") }

// WaitEnd returns when the watcher has exited. It returns an error if the watcher was killed, or ended for another reason
// than a request. It passes the warnings that come until then to warned.
func (c *Conn) WaitEnd(warned func(text string)) error {
	c.warned = warned
	_, err := c.awaitValue("ended")
	if errors.Is(err, errEnded) {
		err = errKilled
	}
	io.Copy(io.Discard, c.r)
	return err
}

func (c *Conn) end(word string) error { return errors.Join(c.send("%s", word), c.f.Close()) }

// errEnded means that the watcher has exited too early.
var errEnded = errors.New("the watcher ended: docker hostexec logs may show why")

// errKilled means that the watcher has exited without a message.
var errKilled = errors.New("the watcher was killed")

// awaitValue reads lines until want comes, and returns the value that it has, if any.
func (c *Conn) awaitValue(want string) (string, error) {
	for {
		s, err := c.r.ReadString('\n')
		if err != nil {
			return "", errEnded
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(s, "\n"), " ")
		text, _ := strconv.Unquote(rest)
		switch word {
		case want:
			return rest, nil
		case "warn":
			if c.warned != nil {
				c.warned(text)
				continue
			}
			c.warnings = append(c.warnings, text)
		case "where":
			c.commandDirs = text
		case "writable":
			c.writable = append(c.writable, text)
		case "error":
			return "", errors.New(text)
		}
	}
}

// LauncherConn is the watcher's end of a Conn. The launcher has the other end.
type LauncherConn struct {
	f      *os.File
	Lines  chan string // closed when the launcher has ended the connection, or has exited
	closed chan struct{}
	reader sync.WaitGroup
}

// maxLine is the maximum size of a message. The kernel limits an agent's arguments and environment to less.
const maxLine = 16 << 20

func newLauncherConn(f *os.File) *LauncherConn {
	l := &LauncherConn{f: f, Lines: make(chan string), closed: make(chan struct{})}
	// ends when the launcher closes its end, or close closes ours.
	l.reader.Go(l.read)
	return l
}

func (c *LauncherConn) read() {
	defer close(c.Lines)
	in := bufio.NewScanner(c.f)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		select {
		case c.Lines <- in.Text():
		case <-c.closed:
			return
		}
	}
}

// recorded waits for the session's record. It returns false if there will be none.
func (c *LauncherConn) recorded(ctx context.Context) bool {
	select {
	case line := <-c.Lines:
		return line == "recorded"
	case <-ctx.Done():
		return false
	}
}

// Stopping reports that the container is being stopped, because a user stops the session.
func (c *LauncherConn) Stopping() { fmt.Fprintln(c.f, "stopping") }

// Ready reports that calls are accepted.
func (c *LauncherConn) Ready() { fmt.Fprintln(c.f, "ready") }

// Bound reports that the container may start, with warnings about its mounts, the directories in which commands run,
// and those that the container can write.
func (c *LauncherConn) Bound(warnings []string, commandDirs string, writable []string) {
	c.Warn(warnings)
	fmt.Fprintln(c.f, "where", strconv.Quote(commandDirs))
	for _, dir := range writable {
		fmt.Fprintln(c.f, "writable", strconv.Quote(dir))
	}
	fmt.Fprintln(c.f, "bound")
}

// Warn sends warnings about the session.
func (c *LauncherConn) Warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(c.f, "warn", strconv.Quote(w))
	}
}

// TryWarn sends a warning that a caller can cause at any time. If the launcher reads nothing, because it is suspended, the
// warning may be lost: otherwise TryWarn would wait, and so would calls and the end of the session.
func (c *LauncherConn) TryWarn(text string) {
	c.f.SetWriteDeadline(time.Now().Add(Poll))
	c.Warn([]string{text})
	c.f.SetWriteDeadline(time.Time{})
}

// Fail sends the reason why the session cannot be served.
func (c *LauncherConn) Fail(err error) { fmt.Fprintln(c.f, "error", strconv.Quote(err.Error())) }

// Ended reports that the session has ended as it was asked to.
func (c *LauncherConn) Ended() { fmt.Fprintln(c.f, "ended") }

// CloseEarly ends the connection before the watcher exits, so that the launcher does not wait for the exit.
func (c *LauncherConn) CloseEarly() { c.f.Close() }

func (c *LauncherConn) close() {
	c.f.Close()
	close(c.closed)
	c.reader.Wait()
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Container is where a shell lives that is not on this host.
type Container interface {
	// Name is what people call it.
	Name() string
	// Start starts args there, without a terminal. Read is of its stdout, Write to its stdin,
	// Close hangs up and ends both. Once Read has come to an end, exit says how it ended.
	Start(ctx context.Context, args []string) (stdio io.ReadWriteCloser, exit func(context.Context) (int, error), err error)
}

//go:embed warden.bash
var supervisor string

// bootstrap has the warden come in by stdin: as an argument all that list processes would show it.
const bootstrap = `IFS= read -r n && IFS= read -r -d '' -N "$n" warden && eval "$warden"`

// containerBackend is the ground of a shell's process in a container: a warden there, which does what
// is said here and tells what it sees. It is the container's, like all else there: what it
// says is heard within bounds, and nobody waits for it but for what it runs.
type containerBackend struct {
	pool         *Pool
	process      *shellProcess
	stdio        io.ReadWriteCloser
	n            scriptNames   // those that are the same for each command; exit is the directory
	out          chan []byte   // to the warden
	gone         chan struct{} // closed when the warden is, or is given up
	removed      chan struct{} // closed when nothing of it is left
	over         bool          // listen's: the warden has said that it leaves nothing
	unresponsive atomic.Bool   // it was given up because it does not listen

	mu           sync.Mutex // guards the fields below
	commands     map[string]*containerCommand
	acknowledged map[int]chan struct{} // what the warden was told to do and has not said it did
	orders       int
	at           string // where the shell stands
	ending       bool
}

// startTimeout is how long a warden may take to come up.
const startTimeout = time.Minute

// ContainerError is that a container cannot have a shell.
type ContainerError struct{ In, Why string }

func (e *ContainerError) Error() string {
	return fmt.Sprintf("no shell in container %s: %s", e.In, e.Why)
}

// startInside starts a process in the shell's container.
func (s *Shell) startInside(ctx context.Context, b StartConfig) (*shellProcess, error) {
	l := newShellProcess()
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, &ContainerError{s.In(), "its engine does not answer"})
	defer cancel()
	stdio, exit, err := s.options.In.Start(ctx, supervisorArgs("warden", append([]string{l.id, s.options.Dir}, environ(b.Env, s.options.Env)...)...))
	if err != nil {
		return nil, err
	}
	g := &containerBackend{pool: s.pool, process: l, stdio: stdio, out: make(chan []byte, 64), gone: make(chan struct{}), removed: make(chan struct{}), commands: map[string]*containerCommand{}, acknowledged: map[int]chan struct{}{}}
	l.backend = g
	stop := context.AfterFunc(ctx, func() { stdio.Close() })
	in := bufio.NewReaderSize(stdio, maxLine)
	if err = writeBootstrap(stdio); err == nil {
		err = g.readGreeting(in)
	}
	if err != nil {
		time.AfterFunc(s.pool.replyTimeout(), func() { stdio.Close() }) // of who does not end after that
		err = startError(ctx, err, s.In(), in, exit)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		stdio.Close()
		return nil, err
	}
	// end when the warden does or g is closed: kill sees to that, and Pool.Close waits.
	s.pool.wg.Go(func() { g.listen(s.options.In, in, exit) })
	s.pool.wg.Go(g.writeCommands)
	return l, g.writeLine(hello)
}

// supervisorArgs is what starts a warden, or what sweeps after one.
func supervisorArgs(as string, args ...string) []string {
	return append([]string{"bash", "--norc", "--noprofile", "-p", "-c", bootstrap, "hostexec-" + as}, args...)
}

// writeBootstrap writes the warden to its stdin: less than a pipe holds.
func writeBootstrap(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d\n%s", len(supervisor), supervisor)
	return err
}

// readGreeting hears how the warden's shell and its files are called.
func (g *containerBackend) readGreeting(in *bufio.Reader) error {
	var lines [4]string
	for i := range lines {
		b, err := in.ReadSlice('\n')
		if err != nil {
			lines[0] += string(b)
			return fmt.Errorf("%w: %s", err, lines[0])
		}
		lines[i] = strings.TrimSuffix(string(b), "\n")
		if i == 0 && !strings.HasPrefix(lines[0], "shell ") {
			return errors.New(lines[0])
		}
	}
	pid, err := strconv.Atoi(lines[0][len("shell "):])
	if err != nil || pid <= 1 || pid > math.MaxInt32 {
		return errNonsense
	}
	for _, file := range lines[1:] {
		if !path.IsAbs(file) || len(file) > 1024 {
			return errNonsense
		}
	}
	g.process.pid = pid
	g.n = scriptNames{bash: lines[1], mv: "LC_ALL=C " + quote(lines[2]) + " -f --", fifo: lines[3] + "/news", exit: lines[3]}
	return nil
}

// startError says why no warden came up: it said so itself, or the engine did in its place.
func startError(ctx context.Context, err error, name string, in *bufio.Reader, exit func(context.Context) (int, error)) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	why, said := strings.CutPrefix(err.Error(), "fail ")
	if said || errors.Is(err, errNonsense) || errors.Is(err, bufio.ErrBufferFull) {
		return &ContainerError{name, why}
	}
	io.Copy(io.Discard, io.LimitReader(in, 1<<20))
	code, _ := exit(ctx)
	if code == 126 || code == 127 {
		return &ContainerError{name, "it has no bash, and shells with state are bash: install it in the image"}
	}
	return &ContainerError{name, fmt.Sprintf("bash ended with %d: %s", code, why)}
}

// writeCommands writes what is to be said, until the warden is gone.
func (g *containerBackend) writeCommands() {
	for {
		select {
		case b := <-g.out:
			if _, err := g.stdio.Write(b); err != nil {
				g.stdio.Close()
				return
			}
		case <-g.gone:
			return
		}
	}
}

var errUnresponsive = errors.New("the container does not listen")

// send says line to the warden, and what belongs to it. One that does not listen is given up,
// and the shell with it.
func (g *containerBackend) send(format string, a ...any) error {
	late := time.NewTimer(g.pool.replyTimeout())
	defer late.Stop()
	select {
	case g.out <- fmt.Appendf(nil, format, a...):
		return nil
	case <-g.gone:
	case <-late.C:
		g.giveUp()
	}
	return g.process.waitDeath()
}

// giveUp hangs up on a warden that does not listen. It ends all by itself then, if it is one.
func (g *containerBackend) giveUp() {
	g.unresponsive.Store(true)
	g.stdio.Close()
}

// brief is d, or less where nothing is to be expected any more: a container is not to hold up
// whoever ends its session.
func (g *containerBackend) brief(d time.Duration) time.Duration {
	if g.unresponsive.Load() {
		return min(d, time.Second)
	}
	return d
}

func (g *containerBackend) writeLine(line string) error { return g.send("say %d\n%s", len(line), line) }

func (g *containerBackend) cwd() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at
}

func (g *containerBackend) left() <-chan struct{} { return g.removed }
func (g *containerBackend) hasLeftovers() bool    { return !closed(g.removed) }
func (g *containerBackend) remove()               { <-g.removed }

// kill has the warden end everything, and itself. Where it does not, it is left alone: it is
// the container that has what is then left.
func (g *containerBackend) kill() {
	g.mu.Lock()
	first := !g.ending
	g.ending = true
	g.mu.Unlock()
	if !first {
		return
	}
	grace := g.pool.grace()
	// ends when the warden is gone, or is late.
	g.pool.wg.Go(func() {
		g.send("end %d\n", grace.Milliseconds())
		select {
		case <-g.gone:
		case <-time.After(grace + g.pool.replyTimeout()/2):
			g.giveUp()
		}
	})
}

func (g *containerBackend) look(request string) subtree {
	g.send("look %s\n", request)
	return &containerSubtree{g, nil}
}

func (g *containerBackend) copied(_ int, request string) subtree {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &containerSubtree{g, g.commands[request]}
}

// containerSubtree is a shell in a container, or a copy of it.
type containerSubtree struct {
	*containerBackend
	copy *containerCommand
}

func (s *containerSubtree) Alive() bool {
	if s.copy == nil {
		return s.process.alive()
	}
	select {
	case <-s.gone:
		return false
	default:
		return !s.copy.lost.Load()
	}
}

func (s *containerSubtree) Interrupt(request string)  { s.send("int %s\n", request) }
func (s *containerSubtree) Signal(sig syscall.Signal) { s.send("signal %d\n", int(sig)) }

func (s *containerSubtree) EndNew(request string, grace time.Duration) error {
	return s.order(grace, "prune "+request)
}

func (s *containerSubtree) EndSubtree(pid int, request string, grace time.Duration) error {
	return s.order(grace, fmt.Sprintf("cut %s.%d", request, pid))
}

// order has the warden end something, and waits until it has.
func (g *containerBackend) order(grace time.Duration, what string) error {
	done := make(chan struct{})
	g.mu.Lock()
	g.orders++
	number := g.orders
	g.acknowledged[number] = done
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.acknowledged, number)
	}()
	if err := g.send("%s %d %d\n", what, grace.Milliseconds(), number); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-g.gone:
		return nil // and all with it
	case <-time.After(grace + g.pool.replyTimeout()):
		g.giveUp()
		return errUnresponsive
	}
}

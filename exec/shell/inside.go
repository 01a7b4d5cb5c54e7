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
var warden string

// usher has the warden come in by stdin: as an argument all that list processes would show it.
const usher = `IFS= read -r n && IFS= read -r -d '' -N "$n" warden && eval "$warden"`

// inside is the ground of a shell's process in a container: a warden there, which does what
// is said here and tells what it sees. It is the container's, like all else there: what it
// says is heard within bounds, and nobody waits for it but for what it runs.
type inside struct {
	pool  *Pool
	life  *life
	stdio io.ReadWriteCloser
	n     names         // those that are the same for each command; exit is the directory
	out   chan []byte   // to the warden
	gone  chan struct{} // closed when the warden is, or is given up
	swept chan struct{} // closed when nothing of it is left
	over  bool          // listen's: the warden has said that it leaves nothing
	deaf  atomic.Bool   // it was given up because it does not listen

	mu     sync.Mutex // guards the fields below
	desks  map[string]*insideDesk
	dids   map[int]chan struct{} // what the warden was told to do and has not said it did
	orders int
	at     string // where the shell stands
	ending bool
}

// meeting is how long a warden may take to come up.
const meeting = time.Minute

// ContainerError is that a container cannot have a shell.
type ContainerError struct{ In, Why string }

func (e *ContainerError) Error() string {
	return fmt.Sprintf("no shell in container %s: %s", e.In, e.Why)
}

// startInside starts a process in the shell's container.
func (s *Shell) startInside(ctx context.Context, b Birth) (*life, error) {
	l := newLife()
	ctx, cancel := context.WithTimeoutCause(ctx, meeting, &ContainerError{s.In(), "its engine does not answer"})
	defer cancel()
	stdio, exit, err := s.options.In.Start(ctx, wardenArgs("warden", append([]string{l.id, s.options.Dir}, environ(b.Env, s.options.Env)...)...))
	if err != nil {
		return nil, err
	}
	g := &inside{pool: s.pool, life: l, stdio: stdio, out: make(chan []byte, 64), gone: make(chan struct{}), swept: make(chan struct{}), desks: map[string]*insideDesk{}, dids: map[int]chan struct{}{}}
	l.ground = g
	stop := context.AfterFunc(ctx, func() { stdio.Close() })
	in := bufio.NewReaderSize(stdio, maxLine)
	if err = usherIn(stdio); err == nil {
		err = g.meet(in)
	}
	if err != nil {
		time.AfterFunc(s.pool.patience(), func() { stdio.Close() }) // of who does not end after that
		err = notMet(ctx, err, s.In(), in, exit)
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
	s.pool.wg.Go(g.talk)
	return l, g.say(hello)
}

// wardenArgs is what starts a warden, or what sweeps after one.
func wardenArgs(as string, args ...string) []string {
	return append([]string{"bash", "--norc", "--noprofile", "-p", "-c", usher, "hostexec-" + as}, args...)
}

// usherIn writes the warden to its stdin: less than a pipe holds.
func usherIn(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d\n%s", len(warden), warden)
	return err
}

// meet hears how the warden's shell and its files are called.
func (g *inside) meet(in *bufio.Reader) error {
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
	g.life.pid = pid
	g.n = names{bash: lines[1], mv: "LC_ALL=C " + quote(lines[2]) + " -f --", news: lines[3] + "/news", exit: lines[3]}
	return nil
}

// notMet says why no warden came up: it said so itself, or the engine did in its place.
func notMet(ctx context.Context, err error, name string, in *bufio.Reader, exit func(context.Context) (int, error)) error {
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

// talk writes what is to be said, until the warden is gone.
func (g *inside) talk() {
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

var errUnheard = errors.New("the container does not listen")

// tell says line to the warden, and what belongs to it. One that does not listen is given up,
// and the shell with it.
func (g *inside) tell(format string, a ...any) error {
	late := time.NewTimer(g.pool.patience())
	defer late.Stop()
	select {
	case g.out <- fmt.Appendf(nil, format, a...):
		return nil
	case <-g.gone:
	case <-late.C:
		g.giveUp()
	}
	return g.life.death()
}

// giveUp hangs up on a warden that does not listen. It ends all by itself then, if it is one.
func (g *inside) giveUp() {
	g.deaf.Store(true)
	g.stdio.Close()
}

// brief is d, or less where nothing is to be expected any more: a container is not to hold up
// whoever ends its session.
func (g *inside) brief(d time.Duration) time.Duration {
	if g.deaf.Load() {
		return min(d, time.Second)
	}
	return d
}

func (g *inside) say(line string) error { return g.tell("say %d\n%s", len(line), line) }

func (g *inside) cwd() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at
}

func (g *inside) left() <-chan struct{} { return g.swept }
func (g *inside) lingers() bool         { return !closed(g.swept) }
func (g *inside) rid()                  { <-g.swept }

// kill has the warden end everything, and itself. Where it does not, it is left alone: it is
// the container that has what is then left.
func (g *inside) kill() {
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
		g.tell("end %d\n", grace.Milliseconds())
		select {
		case <-g.gone:
		case <-time.After(grace + g.pool.patience()/2):
			g.giveUp()
		}
	})
}

func (g *inside) look(request string) stem {
	g.tell("look %s\n", request)
	return &insideStem{g, nil}
}

func (g *inside) copied(_ int, request string) stem {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &insideStem{g, g.desks[request]}
}

// insideStem is a shell in a container, or a copy of it.
type insideStem struct {
	*inside
	copy *insideDesk
}

func (s *insideStem) Alive() bool {
	if s.copy == nil {
		return s.life.alive()
	}
	select {
	case <-s.gone:
		return false
	default:
		return !s.copy.lost.Load()
	}
}

func (s *insideStem) Interrupt(request string)  { s.tell("int %s\n", request) }
func (s *insideStem) Signal(sig syscall.Signal) { s.tell("signal %d\n", int(sig)) }

func (s *insideStem) Prune(request string, grace time.Duration) error {
	return s.order(grace, "prune "+request)
}

func (s *insideStem) Cut(pid int, request string, grace time.Duration) error {
	return s.order(grace, fmt.Sprintf("cut %s.%d", request, pid))
}

// order has the warden end something, and waits until it has.
func (g *inside) order(grace time.Duration, what string) error {
	done := make(chan struct{})
	g.mu.Lock()
	g.orders++
	number := g.orders
	g.dids[number] = done
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.dids, number)
	}()
	if err := g.tell("%s %d %d\n", what, grace.Milliseconds(), number); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-g.gone:
		return nil // and all with it
	case <-time.After(grace + g.pool.patience()):
		g.giveUp()
		return errUnheard
	}
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/limit"
)

// onDisk is how many bytes the files have that this process has open, removed ones too.
func onDisk(t testing.TB, dir string) (n int64) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	for _, fd := range fds {
		var st unix.Stat_t
		at := "/proc/self/fd/" + fd.Name()
		if name, err := os.Readlink(at); err == nil && strings.HasPrefix(name, dir) && unix.Stat(at, &st) == nil {
			n += st.Blocks * 512
		}
	}
	return n
}

// stalled takes nothing until it is closed.
type stalled chan struct{}

func (s stalled) Write(b []byte) (int, error) {
	<-s
	return len(b), nil
}

// A command whose output is not read is ended when the output on the disk reaches the limit of its session. Other
// commands are not. Later ones have all the room again.
//
// Attack 212.
func TestSpoolLimit(t *testing.T) {
	r := newFixture(t)
	r.Limits = new(limit.Session)
	r.Limits.Adjust(limit.Limits{limit.Spool: 8 << 20})
	s, other := r.shell(t, "a"), r.shell(t, "b")
	slow := make(stalled)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	// ends with the command, which the limit ends.
	go func() {
		_, err := s.Exec(ctx, r.config, Command{ID: newID(), Text: "yes"}, Output{Out: slow, Err: io.Discard, Started: func(string, int) {}})
		ended <- err
	}()
	eventually(t, "the command was told to end", func() bool {
		r.spool.mu.Lock()
		defer r.spool.mu.Unlock()
		for _, e := range r.spool.files {
			if e.over {
				return true
			}
		}
		return false
	})
	r.text(t, other, "echo goes on")
	close(slow)
	err := <-ended
	var over *limit.Error
	if !errors.As(err, &over) || !strings.Contains(err.Error(), "limit of 8 MiB for data that waits on the host's disk (limits.spool)") {
		t.Errorf("error = %v, want the limit", err)
	}
	eventually(t, "nothing is held", func() bool { return r.Limits.Held(limit.Spool) == 0 })
	if got := r.text(t, s, "seq 1000 | tail -1"); got.out != "1000\n" {
		t.Errorf("the next command wrote %q", got.out)
	}
}

// What is passed on is given back to the disk: a command may write more than the limit.
func TestSpoolPassesOn(t *testing.T) {
	r := newFixture(t)
	r.Limits = new(limit.Session)
	r.Limits.Adjust(limit.Limits{limit.Spool: 16 << 20})
	s := r.shell(t, "a")
	fifo := filepath.Join(r.work, "fifo")
	check(t, unix.Mkfifo(fifo, 0o600))
	acks, err := os.OpenFile(fifo, os.O_RDWR, 0)
	check(t, err)
	defer acks.Close()
	out := &acknowledger{each: 2000000, to: acks}
	ctx, cancel := patient(t.Context())
	defer cancel()
	text := "for i in {1..40}; do head -c 2000000 /dev/zero; read <fifo; done"
	_, err = s.Exec(ctx, r.config, Command{ID: newID(), Text: text}, Output{Out: out, Err: io.Discard})
	if err != nil || out.n != 80000000 {
		t.Errorf("%d bytes, want 80000000: %v", out.n, err)
	}
}

// acknowledger writes a newline for every a.each bytes that it gets.
type acknowledger struct {
	n, each int
	to      io.Writer
}

func (a *acknowledger) Write(b []byte) (int, error) {
	before := a.n / a.each
	a.n += len(b)
	io.WriteString(a.to, strings.Repeat("\n", a.n/a.each-before))
	return len(b), nil
}

// What a command leaves running may write for ever: it fills nothing, and its FIFO goes with it.
//
// Attack 212.
func TestSpoolLeft(t *testing.T) {
	r := newFixture(t)
	s := r.shell(t, "a")
	r.text(t, s, "yes & echo $! >pid")
	for range 10 { // it writes all that time
		<-time.After(pollInterval)
		if n := onDisk(t, r.Dir); n > 64<<10 { // scripts
			t.Fatalf("%d bytes are on the disk", n)
		}
	}
	if got := r.text(t, s, "kill -0 $(cat pid)"); got.code != 0 {
		t.Errorf("it has ended: %+v", got)
	}
	r.text(t, s, "kill $(cat pid)")
	eventually(t, "its FIFOs are closed", func() bool {
		r.spool.mu.Lock()
		defer r.spool.mu.Unlock()
		return len(r.spool.left) == 0
	})
	left, err := filepath.Glob(filepath.Join(r.Dir, "*.out"))
	check(t, err)
	if len(left) > 1 { // that of the next command
		t.Errorf("left: %q", left)
	}
}

// The end of all shells waits for nobody who has a FIFO open still.
func TestSpoolClose(t *testing.T) {
	p, err := newOutputPipe(filepath.Join(t.TempDir(), "out"))
	check(t, err)
	check(t, p.open())
	var s spool
	s.discard(p.r)
	if _, err := p.w.WriteString("dropped"); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	n := len(s.left)
	s.mu.Unlock()
	if n != 1 {
		t.Fatal("a FIFO that somebody has open is not read any more")
	}
	s.close()
	if _, err := p.r.Stat(); !errors.Is(err, os.ErrClosed) || len(s.left) != 0 {
		t.Errorf("after the end: %v, %d FIFOs", err, len(s.left))
	}
	p.remove()
}

// One object holds all of a command's output on the disk: that is limited, too.
func TestSpoolObject(t *testing.T) {
	r := newFixture(t)
	r.Limits = new(limit.Session)
	r.Limits.Adjust(limit.Limits{limit.Spool: 1 << 20})
	o, err := Report{To: io.Discard}.Object(r.Spool)
	check(t, err)
	var over *limit.Error
	if _, err := io.CopyN(o.Out(), zeros{}, 2<<20); !errors.As(err, &over) {
		t.Errorf("error = %v, want the limit", err)
	}
	check(t, o.Close())
	if n := r.Limits.Held(limit.Spool); n != 0 {
		t.Errorf("%d bytes are held after the end", n)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

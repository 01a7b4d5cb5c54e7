// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Output is the destination of a command's output, while it is written.
type Output struct {
	Out, Err io.Writer
	Queued   func(request string)          // called once, before the wait for the turn; nil is nothing
	Waits    func()                        // called once, before Started, if other commands keep the shell busy; nil is nothing
	Started  func(request string, pid int) // called once, before any byte; nil is nothing
	Full     func(error)                   // called once, before the end, if the host's disk was full: output may be missing; nil is nothing
	Ending   func()                        // called once the command is ended before its end: a Write must return soon then; nil is nothing
}

// expireWith calls Ending when ctx ends, unless stop is called before.
func (o Output) expireWith(ctx context.Context) (stop func() bool) {
	if o.Ending == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, o.Ending)
}

// fileTail copies the output of a command from its files, until finish.
type fileTail struct {
	files *files
	out   Output
	stop  chan struct{}
	done  sync.WaitGroup
	err   error // valid after finish
}

// follow copies the output that is written from now on. If a writer fails, it calls fail and copies no more.
func (f *files) follow(o Output, fail func(error)) *fileTail {
	t := &fileTail{files: f, out: o, stop: make(chan struct{})}
	// ends when stop is closed, or a writer fails; finish sees to that and waits.
	t.done.Go(func() {
		if t.err = t.run(); t.err != nil {
			fail(t.err)
		}
	})
	for _, p := range []*outputPipe{f.out, f.err} {
		p.start()
		f.table.spool.add(p.file, f.table.limits(), fail)
	}
	f.table.spare.refill(f.table.Dir)
	return t
}

func (t *fileTail) run() error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return t.copy()
		case <-tick.C:
			if err := t.copy(); err != nil {
				return err
			}
		}
	}
}

// copy copies the output that exists now.
func (t *fileTail) copy() error {
	return errors.Join(rest(t.out.Out, t.files.out.file), rest(t.out.Err, t.files.err.file))
}

func rest(w io.Writer, f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, f, max(0, fi.Size()-at))
	if err == io.EOF { // look has truncated it
		err = nil
	}
	return err
}

// finish copies the remaining output, and returns when all of it has been passed on.
func (t *fileTail) finish() error {
	lost := errors.Join(t.files.out.finish(), t.files.err.finish())
	close(t.stop)
	t.done.Wait()
	spool := &t.files.table.spool
	lost = errors.Join(lost, spool.full(t.files.out.file), spool.full(t.files.err.file))
	if lost != nil && t.out.Full != nil {
		t.out.Full(lost)
	}
	return t.err
}

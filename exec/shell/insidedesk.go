// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// containerCommand is what a command has in a container.
type containerCommand struct {
	*containerBackend
	id     string
	wakeup chan struct{}         // has room for one: there may be news
	code   atomic.Pointer[int64] // nil before it has ended
	copy   atomic.Pointer[int64] // the pid of a copy, nil before it is known
	lost   atomic.Bool           // the copy has ended without a word
	sizes  atomic.Pointer[[2]int64]
	chunks [2]chan chunk
}

// chunk is a part of what a command wrote.
type chunk struct {
	data   []byte
	stream int  // 0 is stdout, 1 stderr
	last   bool // the warden was told that it is over; and if it is short, nothing follows
}

func (g *containerBackend) open(id string, _ StartConfig) (commandFiles, error) {
	d := &containerCommand{containerBackend: g, id: id, wakeup: make(chan struct{}, 1)}
	for i := range d.chunks {
		d.chunks[i] = make(chan chunk, maxAhead)
	}
	g.mu.Lock()
	g.commands[id] = d
	g.mu.Unlock()
	if err := g.send("open %s\n", id); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

func (d *containerCommand) names() scriptNames {
	n, base := d.n, d.n.exit+"/"+d.id
	n.script, n.text, n.out, n.err, n.exit, n.pid = base+".cmd", base+".txt", base+".out", base+".err", base+".exit", base+".pid"
	return n
}

func (d *containerCommand) write(script, text string) error {
	if text != "" {
		if err := d.send("file %s.txt %d\n%s", d.id, len(text), text); err != nil {
			return err
		}
	}
	return d.send("file %s.cmd %d\n%s", d.id, len(script), script)
}

func (d *containerCommand) wakeups() <-chan struct{} { return d.wakeup }
func (d *containerCommand) reuse()                   {}

func (d *containerCommand) wake() {
	select {
	case d.wakeup <- struct{}{}:
	default: // it is told already
	}
}

func (d *containerCommand) exited() (int, bool) { return known(&d.code) }
func (d *containerCommand) pid() (int, bool)    { return known(&d.copy) }

func known(n *atomic.Pointer[int64]) (int, bool) {
	if p := n.Load(); p != nil {
		return int(*p), true
	}
	return 0, false
}

// remove has the warden remove the files. The last of a shell that has died lets it go.
func (d *containerCommand) remove() {
	d.mu.Lock()
	delete(d.commands, d.id)
	idle := len(d.commands) == 0
	d.mu.Unlock()
	d.send("close %s\n", d.id)
	if idle && !d.process.alive() {
		d.kill()
	}
}

// containerTail asks for what a command writes, a few chunks of each stream at a time.
type containerTail struct {
	command *containerCommand
	to      [2]io.Writer
	stop    chan struct{}
	done    sync.WaitGroup
	err     error // right after finish

	sent  [2]int64
	asked [2]int // chunks that are to come
	ended [2]bool
}

var streams = [2]string{"out", "err"}

func (d *containerCommand) follow(o Output, fail func(error)) tail {
	t := &containerTail{command: d, to: [2]io.Writer{o.Out, o.Err}, stop: make(chan struct{})}
	// ends when stop is closed, a writer fails, or the warden is gone; finish waits.
	t.done.Go(func() {
		if t.err = t.run(); t.err != nil {
			fail(t.err)
		}
	})
	return t
}

func (t *containerTail) run() error {
	stop := t.stop
	late := time.NewTimer(t.command.pool.replyTimeout())
	late.Stop()
	defer late.Stop()
	for !t.ended[0] || !t.ended[1] {
		for i := range t.asked {
			for ; t.asked[i] < maxAhead && !t.ended[i]; t.asked[i]++ {
				t.command.send("want %s %s\n", t.command.id, streams[i])
			}
		}
		var err error
		select {
		case c := <-t.command.chunks[0]:
			err = t.take(c)
		case c := <-t.command.chunks[1]:
			err = t.take(c)
		case <-stop:
			stop = nil
			t.command.send("rest %s\n", t.command.id)
			late.Reset(t.command.pool.replyTimeout())
		case <-late.C:
			t.command.stdio.Close()
			return errUnresponsive
		case <-t.command.gone:
			return nil
		}
		if err != nil {
			return err
		}
		if stop == nil {
			late.Reset(t.command.pool.replyTimeout()) // it is over: all it takes is to read files
		}
	}
	return nil
}

// take passes on a chunk. Somebody who was left behind may write for ever: what was there
// when it was over is all that counts.
func (t *containerTail) take(c chunk) error {
	t.asked[c.stream]--
	t.sent[c.stream] += int64(len(c.data))
	if c.last {
		sizes := t.command.sizes.Load()
		t.ended[c.stream] = len(c.data) < maxChunk || sizes != nil && t.sent[c.stream] >= sizes[c.stream]
		if !t.ended[c.stream] && sizes == nil {
			t.command.send("size %s\n", t.command.id)
		}
	}
	if len(c.data) == 0 {
		return nil
	}
	_, err := t.to[c.stream].Write(c.data)
	return err
}

// finish implements tail.
func (t *containerTail) finish() error {
	close(t.stop)
	t.done.Wait()
	return t.err
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// insideDesk is what a command has in a container.
type insideDesk struct {
	*inside
	id     string
	bell   chan struct{}         // has room for one: there may be news
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

func (g *inside) open(id string, _ Birth) (desk, error) {
	d := &insideDesk{inside: g, id: id, bell: make(chan struct{}, 1)}
	for i := range d.chunks {
		d.chunks[i] = make(chan chunk, maxAhead)
	}
	g.mu.Lock()
	g.desks[id] = d
	g.mu.Unlock()
	if err := g.tell("open %s\n", id); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

func (d *insideDesk) names() names {
	n, base := d.n, d.n.exit+"/"+d.id
	n.script, n.text, n.out, n.err, n.exit, n.pid = base+".cmd", base+".txt", base+".out", base+".err", base+".exit", base+".pid"
	return n
}

func (d *insideDesk) write(script, text string) error {
	if text != "" {
		if err := d.tell("file %s.txt %d\n%s", d.id, len(text), text); err != nil {
			return err
		}
	}
	return d.tell("file %s.cmd %d\n%s", d.id, len(script), script)
}

func (d *insideDesk) rung() <-chan struct{} { return d.bell }
func (d *insideDesk) keep()                 {}

func (d *insideDesk) ring() {
	select {
	case d.bell <- struct{}{}:
	default: // it is told already
	}
}

func (d *insideDesk) exited() (int, bool) { return known(&d.code) }
func (d *insideDesk) pid() (int, bool)    { return known(&d.copy) }

func known(n *atomic.Pointer[int64]) (int, bool) {
	if p := n.Load(); p != nil {
		return int(*p), true
	}
	return 0, false
}

// remove has the warden remove the files. The last of a shell that has died lets it go.
func (d *insideDesk) remove() {
	d.mu.Lock()
	delete(d.desks, d.id)
	idle := len(d.desks) == 0
	d.mu.Unlock()
	d.tell("close %s\n", d.id)
	if idle && !d.life.alive() {
		d.kill()
	}
}

// insideTail asks for what a command writes, a few chunks of each stream at a time.
type insideTail struct {
	desk *insideDesk
	to   [2]io.Writer
	stop chan struct{}
	done sync.WaitGroup
	err  error // right after finish

	sent  [2]int64
	asked [2]int // chunks that are to come
	ended [2]bool
}

var streams = [2]string{"out", "err"}

func (d *insideDesk) follow(o Output, fail func(error)) tail {
	t := &insideTail{desk: d, to: [2]io.Writer{o.Out, o.Err}, stop: make(chan struct{})}
	// ends when stop is closed, a writer fails, or the warden is gone; finish waits.
	t.done.Go(func() {
		if t.err = t.run(); t.err != nil {
			fail(t.err)
		}
	})
	return t
}

func (t *insideTail) run() error {
	stop := t.stop
	late := time.NewTimer(t.desk.pool.patience())
	late.Stop()
	defer late.Stop()
	for !t.ended[0] || !t.ended[1] {
		for i := range t.asked {
			for ; t.asked[i] < maxAhead && !t.ended[i]; t.asked[i]++ {
				t.desk.tell("want %s %s\n", t.desk.id, streams[i])
			}
		}
		var err error
		select {
		case c := <-t.desk.chunks[0]:
			err = t.take(c)
		case c := <-t.desk.chunks[1]:
			err = t.take(c)
		case <-stop:
			stop = nil
			t.desk.tell("rest %s\n", t.desk.id)
			late.Reset(t.desk.pool.patience())
		case <-late.C:
			t.desk.stdio.Close()
			return errUnheard
		case <-t.desk.gone:
			return nil
		}
		if err != nil {
			return err
		}
		if stop == nil {
			late.Reset(t.desk.pool.patience()) // it is over: all it takes is to read files
		}
	}
	return nil
}

// take passes on a chunk. Somebody who was left behind may write for ever: what was there
// when it was over is all that counts.
func (t *insideTail) take(c chunk) error {
	t.asked[c.stream]--
	t.sent[c.stream] += int64(len(c.data))
	if c.last {
		sizes := t.desk.sizes.Load()
		t.ended[c.stream] = len(c.data) < maxChunk || sizes != nil && t.sent[c.stream] >= sizes[c.stream]
		if !t.ended[c.stream] && sizes == nil {
			t.desk.tell("size %s\n", t.desk.id)
		}
	}
	if len(c.data) == 0 {
		return nil
	}
	_, err := t.to[c.stream].Write(c.data)
	return err
}

// finish implements tail.
func (t *insideTail) finish() error {
	close(t.stop)
	t.done.Wait()
	return t.err
}

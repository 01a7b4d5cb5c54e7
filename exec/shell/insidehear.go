// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxLine  = 4096     // of what a warden says, in bytes
	maxChunk = 64 << 10 // of what a command wrote that it sends at once
	maxData  = 96 << 10 // the same in base64, in lines
	maxAhead = 2        // chunks of each stream that it may send before one was passed on
	maxCode  = 255      // of an exit
)

var errNonsense = errors.New("the container says what makes no sense")

// listen hears what the warden says until it is gone.
func (g *containerBackend) listen(c Container, in *bufio.Reader, exit func(context.Context) (int, error)) {
	err := g.readEvents(in)
	g.stdio.Close()
	close(g.gone)
	defer close(g.removed)
	if errors.Is(err, errNonsense) {
		g.pool.Log.Warn("a shell's container", "error", err)
	}
	if g.process.alive() { // else it has said how it ended
		ctx, cancel := context.WithTimeout(context.Background(), g.brief(g.pool.replyTimeout()))
		defer cancel()
		code, err := exit(ctx)
		if err != nil || code < 0 || code > maxCode {
			code = 128 + 9
		}
		g.process.end(code)
	}
	if !g.over {
		g.endLeftovers(c)
	}
}

// endLeftovers ends what a warden that was killed has left. There may be no container any more.
func (g *containerBackend) endLeftovers(c Container) {
	ctx, cancel := context.WithTimeout(context.Background(), g.brief(g.pool.grace()+g.pool.replyTimeout()))
	defer cancel()
	stdio, _, err := c.Start(ctx, supervisorArgs("sweeper", g.process.id, g.n.exit))
	if err != nil {
		return
	}
	defer stdio.Close()
	stop := context.AfterFunc(ctx, func() { stdio.Close() })
	defer stop()
	if writeBootstrap(stdio) == nil {
		io.Copy(io.Discard, stdio) // until it has ended
	}
}

func (g *containerBackend) readEvents(in *bufio.Reader) error {
	for {
		b, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), " ")
		switch word {
		case "at":
			g.mu.Lock()
			g.at = rest
			g.mu.Unlock()
		case "left":
			g.over = true // and then comes the end
		case "did":
			err = g.acknowledge(rest)
		case "dead":
			err = g.dead(rest)
		case "data", "last":
			err = g.data(in, rest, word == "last")
		case "exit", "pid", "lost", "size":
			err = g.handleEvent(word, strings.Fields(rest))
		default:
			err = fmt.Errorf("%w: %.40q", errNonsense, word)
		}
		if err != nil {
			return err
		}
	}
}

func (g *containerBackend) acknowledge(number string) error {
	n, err := strconv.Atoi(number)
	g.mu.Lock()
	defer g.mu.Unlock()
	if done := g.acknowledged[n]; err == nil && done != nil {
		delete(g.acknowledged, n)
		close(done)
	}
	return nil
}

// dead is that the shell is: its warden goes when no command needs it any more.
func (g *containerBackend) dead(code string) error {
	n, err := strconv.Atoi(code)
	if err != nil || n < 0 || n > maxCode {
		return errNonsense
	}
	g.process.end(n) // before the desks are counted: from now on the last of them kills
	g.mu.Lock()
	idle := len(g.commands) == 0
	g.mu.Unlock()
	if idle {
		g.kill()
	}
	return nil
}

// handleEvent is one of a command, which may have been forgotten meanwhile.
func (g *containerBackend) handleEvent(word string, f []string) error {
	if len(f) == 0 || len(f) > 3 {
		return errNonsense
	}
	var n [2]int64
	for i, s := range f[1:] {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 0 {
			return errNonsense
		}
		n[i] = v
	}
	g.mu.Lock()
	d, ending := g.commands[f[0]], g.ending
	g.mu.Unlock()
	if d == nil || ending && word == "exit" { // it is ended with the shell
		return nil
	}
	switch word {
	case "exit":
		if n[0] > maxCode {
			return errNonsense
		}
		d.code.CompareAndSwap(nil, &n[0])
	case "pid":
		if n[0] > math.MaxInt32 { // pid_t
			return errNonsense
		}
		d.copy.CompareAndSwap(nil, &n[0])
	case "lost":
		d.lost.Store(true)
	case "size":
		d.sizes.CompareAndSwap(nil, &n)
	}
	d.wake()
	return nil
}

// data is what a command has written: base64 in lines, up to a dot.
func (g *containerBackend) data(in *bufio.Reader, key string, last bool) error {
	var text []byte
	for {
		b, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if string(b) == ".\n" {
			break
		}
		if text = append(text, b...); len(text) > maxData {
			return errNonsense
		}
	}
	c := chunk{last: last, data: make([]byte, base64.StdEncoding.DecodedLen(len(text)))}
	n, err := base64.StdEncoding.Decode(c.data, text) // which passes over the ends of lines
	if err != nil || n > maxChunk {
		return errNonsense
	}
	c.data = c.data[:n]
	id, stream, _ := strings.Cut(key, ".")
	g.mu.Lock()
	d := g.commands[id]
	g.mu.Unlock()
	if d == nil {
		return nil
	}
	if c.stream = slices.Index(streams[:], stream); c.stream < 0 {
		return errNonsense
	}
	select {
	case d.chunks[c.stream] <- c:
		return nil
	default:
		return errNonsense // nobody has asked for it
	}
}

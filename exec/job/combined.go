// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"io"
)

// The combined log holds both streams of a command in lines, each behind three bytes that
// say whose it is:
//
//	log  = *line
//	line = prefix *byte end
//
// A prefix is \x01\x01\x01 for stdout and \x02\x02\x02 for stderr. Whoever takes the prefixes
// off has each stream's text. Two things make that exact for bytes of any kind:
//
//	\x01 and \x02   in what a command wrote are followed by \x00, so that nothing it writes
//	                looks like a prefix
//	\x01\n          ends a line that the other stream broke into: the newline is not the
//	                command's
//
// At the end of the log a line may have no end: then the command wrote none.

// Stream is one of the two that a command writes. Its zero value is neither.
type Stream byte

const (
	Stdout Stream = 1
	Stderr Stream = 2
)

const (
	prefixLen = 3
	escaped   = 0    // after \x01 or \x02: that byte itself
	brokenOff = 0x01 // before a newline: of the log's, not of the command's
)

// encoder makes a combined log of what is written to both streams.
type encoder struct {
	open Stream // whose line has no end yet
}

// append appends to log what is to follow in it when s has written b.
func (e *encoder) append(log []byte, s Stream, b []byte) []byte {
	for len(b) > 0 {
		if e.open != s {
			if e.open != 0 {
				log = append(log, brokenOff, '\n')
			}
			log = append(log, byte(s), byte(s), byte(s))
			e.open = s
		}
		line, n := b, bytes.IndexByte(b, '\n')+1
		if n > 0 {
			line, e.open = b[:n], 0
		}
		log = appendEscaped(log, line)
		b = b[len(line):]
	}
	return log
}

func appendEscaped(log, b []byte) []byte {
	for {
		i := bytes.IndexAny(b, "\x01\x02")
		if i < 0 {
			return append(log, b...)
		}
		log = append(append(log, b[:i+1]...), escaped)
		b = b[i+1:]
	}
}

// ErrMalformed says that something is no combined log.
var ErrMalformed = errors.New("not a combined log")

// Parser takes apart the combined log that is written to it: what each stream had goes to Out
// and Err, in order. Where these are the same it is as if one terminal had been written to.
type Parser struct {
	Out, Err io.Writer

	in   Stream // whose line it is; 0 at the beginning of one
	held []byte // of a prefix, or the first half of a pair
	text []byte // of one stream, not written yet
	of   Stream // that one
}

// Write takes the next part of the log, and has written what was in it when it returns.
func (p *Parser) Write(log []byte) (int, error) {
	for i := 0; i < len(log); {
		n, err := p.step(log[i:])
		if err != nil {
			return i, err
		}
		i += n
	}
	return len(log), p.flush()
}

// Close says whether the log ends where one can end.
func (p *Parser) Close() error {
	if len(p.held) > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// step takes at least one byte of log, which is not empty.
func (p *Parser) step(log []byte) (int, error) {
	switch {
	case p.in == 0:
		return 1, p.prefix(log[0])
	case len(p.held) > 0:
		return 1, p.pair(log[0])
	case log[0] == byte(Stdout), log[0] == byte(Stderr):
		p.held = append(p.held, log[0])
		return 1, nil
	}
	n := bytes.IndexAny(log, "\x01\x02\n")
	if n < 0 {
		return len(log), p.add(log)
	}
	if log[n] != '\n' {
		return n, p.add(log[:n])
	}
	err := p.add(log[:n+1])
	p.in = 0
	return n + 1, err
}

// prefix takes one byte of a line's prefix.
func (p *Parser) prefix(b byte) error {
	if b != byte(Stdout) && b != byte(Stderr) || len(p.held) > 0 && b != p.held[0] {
		return ErrMalformed
	}
	if p.held = append(p.held, b); len(p.held) == prefixLen {
		p.in, p.held = Stream(b), p.held[:0]
	}
	return nil
}

// pair takes the second byte of two that mean something else.
func (p *Parser) pair(b byte) error {
	first := p.held[0]
	p.held = p.held[:0]
	switch {
	case b == escaped:
		return p.add([]byte{first})
	case first == brokenOff && b == '\n':
		p.in = 0
		return nil
	}
	return ErrMalformed
}

// add has b follow in the line's stream. Lines may be short, and a write for each be dear: it
// is written with what comes before and behind it of the same stream.
func (p *Parser) add(b []byte) error {
	if p.of != p.in {
		if err := p.flush(); err != nil {
			return err
		}
		p.of = p.in
	}
	p.text = append(p.text, b...)
	return nil
}

func (p *Parser) flush() error {
	if len(p.text) == 0 {
		return nil
	}
	w := p.Out
	if p.of == Stderr {
		w = p.Err
	}
	_, err := w.Write(p.text)
	p.text = p.text[:0]
	return err
}

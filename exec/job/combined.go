// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"io"
)

// The combined log holds both streams of a command in lines. Three bytes before each line identify
// the stream:
//
//	log  = *line
//	line = prefix *byte end
//
// A prefix is \x01\x01\x01 for stdout and \x02\x02\x02 for stderr. A reader that removes the
// prefixes gets the text of each stream. Two rules make the encoding exact for arbitrary bytes:
//
//	\x01 and \x02   in the command's output are followed by \x00, so that no output looks
//	                like a prefix
//	\x01\n          ends a line that output of the other stream interrupted: the newline
//	                does not belong to the output
//
// The last line of the log has no end if the command wrote none.

// Stream is stdout or stderr. The zero value is neither.
type Stream byte

const (
	Stdout Stream = 1
	Stderr Stream = 2
)

const (
	prefixLen = 3
	escaped   = 0    // after \x01 or \x02: the preceding byte is literal
	lineBreak = 0x01 // before a newline: the newline belongs to the log, not to the output
)

// encoder encodes writes to both streams as a combined log.
type encoder struct {
	open Stream // the stream of the line that has no end yet
}

func (e *encoder) append(log []byte, s Stream, b []byte) []byte {
	for len(b) > 0 {
		if e.open != s {
			if e.open != 0 {
				log = append(log, lineBreak, '\n')
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

// errMalformed means that the data is not a combined log.
var errMalformed = errors.New("not a combined log")

// Parser decodes the combined log that is written to it. It writes the output of each stream to Out
// and Err, in order. If these are the same writer, the result is like that of a terminal.
type Parser struct {
	Out, Err io.Writer

	lineStream Stream // the stream of the current line; 0 at the beginning of a line
	pending    []byte // the start of a prefix, or the first byte of a pair
	text       []byte // decoded text of one stream, not written yet
	textStream Stream // the stream of text
}

// Write decodes the next part of the log. The decoded output has been written when it returns.
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

// Close returns an error if the log ends within a prefix or a pair.
func (p *Parser) Close() error {
	if len(p.pending) > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// step consumes at least one byte of log, which is not empty.
func (p *Parser) step(log []byte) (int, error) {
	switch {
	case p.lineStream == 0:
		return 1, p.prefix(log[0])
	case len(p.pending) > 0:
		return 1, p.pair(log[0])
	case log[0] == byte(Stdout), log[0] == byte(Stderr):
		p.pending = append(p.pending, log[0])
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
	p.lineStream = 0
	return n + 1, err
}

// prefix consumes one byte of the prefix of a line.
func (p *Parser) prefix(b byte) error {
	if b != byte(Stdout) && b != byte(Stderr) || len(p.pending) > 0 && b != p.pending[0] {
		return errMalformed
	}
	if p.pending = append(p.pending, b); len(p.pending) == prefixLen {
		p.lineStream, p.pending = Stream(b), p.pending[:0]
	}
	return nil
}

// pair consumes the second byte of an escape pair.
func (p *Parser) pair(b byte) error {
	first := p.pending[0]
	p.pending = p.pending[:0]
	switch {
	case b == escaped:
		return p.add([]byte{first})
	case first == lineBreak && b == '\n':
		p.lineStream = 0
		return nil
	}
	return errMalformed
}

// add appends b to the text of the current stream. It collects adjacent text of the same stream,
// because one write for each short line is expensive.
func (p *Parser) add(b []byte) error {
	if p.textStream != p.lineStream {
		if err := p.flush(); err != nil {
			return err
		}
		p.textStream = p.lineStream
	}
	p.text = append(p.text, b...)
	return nil
}

func (p *Parser) flush() error {
	if len(p.text) == 0 {
		return nil
	}
	w := p.Out
	if p.textStream == Stderr {
		w = p.Err
	}
	_, err := w.Write(p.text)
	p.text = p.text[:0]
	return err
}

// SPDX-License-Identifier: Apache-2.0

package http

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"unicode/utf8"
)

// output holds the bytes that a command writes to one stream. A small part is in memory, the rest in a file
// without a name. If there is no space left, further output is dropped.
type output struct {
	l         *callMaker
	held      []byte
	inFile    int64
	f         *os.File
	truncated bool // output was dropped
}

// maxHeld is the number of bytes of a stream that are kept in memory.
const maxHeld = 16 << 10

func (o *output) write(b []byte) {
	n := min(len(b), maxHeld-len(o.held))
	if o.inFile > 0 || o.truncated {
		n = 0
	}
	o.held = append(o.held, b[:n]...)
	if b = b[n:]; len(b) == 0 {
		return
	}
	if free := maxKept - maxHeld - o.inFile; int64(len(b)) > free {
		b, o.truncated = b[:free], true
	}
	if !o.writeFile(b) {
		o.truncated = true
	}
}

// writeFile appends b to the file, if there is space.
func (o *output) writeFile(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if o.l.freeSpace.Add(-int64(len(b))) < 0 {
		o.l.freeSpace.Add(int64(len(b)))
		return false
	}
	if o.f == nil && !o.open() {
		o.l.freeSpace.Add(int64(len(b)))
		return false
	}
	n, err := o.f.Write(b)
	o.inFile += int64(n)
	o.l.freeSpace.Add(int64(len(b) - n))
	return err == nil
}

func (o *output) open() bool {
	f, err := os.CreateTemp(o.l.dir, ".output-*") // 0600
	if err != nil {
		return false
	}
	os.Remove(f.Name()) // it is deleted with its last descriptor
	o.f = f
	return true
}

func (o *output) close() {
	o.l.freeSpace.Add(o.inFile)
	if o.f != nil {
		o.f.Close()
	}
}

func (o *output) empty() bool { return len(o.held) == 0 }

// reader returns a reader of all output.
func (o *output) reader() io.Reader {
	if o.f == nil {
		return bytes.NewReader(o.held)
	}
	return io.MultiReader(bytes.NewReader(o.held), io.NewSectionReader(o.f, 0, o.inFile))
}

// jsonField is a field of a JSON object. Its value is an *output, or a value for json.Marshal.
type jsonField struct {
	name  string
	value any
}

// writeObject writes a JSON object on one line, and never has all of it in memory. Empty fields are left out, except
// numbers.
func writeObject(w io.Writer, members ...jsonField) error {
	b := bufio.NewWriterSize(w, 8<<10)
	sep := byte('{')
	for _, m := range members {
		if o, ok := m.value.(*output); m.value == "" || m.value == false || ok && o.empty() {
			continue
		}
		b.WriteByte(sep)
		sep = ','
		b.WriteString(`"` + m.name + `":`)
		if o, ok := m.value.(*output); ok {
			if err := writeString(b, o.reader()); err != nil {
				return err
			}
			continue
		}
		text, err := json.Marshal(m.value)
		if err != nil {
			return err
		}
		b.Write(text)
	}
	b.WriteString("}\n")
	return b.Flush()
}

// writeString writes the text of r as one JSON string (RFC 8259). Bytes that are not UTF-8 become U+FFFD.
func writeString(w *bufio.Writer, r io.Reader) error {
	const hex = "0123456789abcdef"
	w.WriteByte('"')
	for in := bufio.NewReader(r); ; {
		c, _, err := in.ReadRune()
		if err == io.EOF {
			return w.WriteByte('"')
		}
		if err != nil {
			return err
		}
		switch {
		case c == '"' || c == '\\':
			w.WriteByte('\\')
			err = w.WriteByte(byte(c))
		case c == '\n':
			_, err = w.WriteString(`\n`)
		case c < ' ' || c == 0x7f:
			_, err = w.WriteString(`\u00` + string(hex[c>>4]) + string(hex[c&15]))
		case c == utf8.RuneError:
			_, err = w.WriteString(`\ufffd`)
		default:
			_, err = w.WriteRune(c)
		}
		if err != nil {
			return err
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Report describes a command in JSON, as JSONEvents or as a JSONObject.
type Report struct {
	To      io.Writer
	Command string
	Since   time.Time
}

// JSONEvents writes a line of JSON for each event: start, stdout, stderr and complete.
type JSONEvents struct {
	Report
	to       *json.Encoder
	out, err eventWriter
}

// Events returns r in the form of one line for each event.
func (r Report) Events() *JSONEvents {
	to := encoder(r.To)
	return &JSONEvents{r, to, eventWriter{to: to, typ: "stdout"}, eventWriter{to: to, typ: "stderr"}}
}

// encoder does not escape < and &, because the reader is no browser.
func encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(names.ASCIIWriter(w)) // it may be a terminal, and the container may have written the text
	e.SetEscapeHTML(false)
	return e
}

type event struct {
	Type      string     `json:"type"`
	Request   string     `json:"request,omitempty"`
	PID       int        `json:"pid,omitempty"`
	Command   string     `json:"command,omitempty"`
	Data      string     `json:"data,omitempty"`
	ExitCode  *int       `json:"exit_code,omitempty"`
	Error     string     `json:"error,omitempty"`
	Duration  *float64   `json:"duration,omitempty"` // seconds
	Timestamp *time.Time `json:"timestamp,omitempty"`
}

// Out and Err are the writers for the command's output.
func (e *JSONEvents) Out() io.Writer { return &e.out }
func (e *JSONEvents) Err() io.Writer { return &e.err }

// Started reports that the command runs.
func (e *JSONEvents) Started(request string, pid int) {
	at := e.Since.UTC()
	e.to.Encode(event{Type: "start", Request: request, PID: pid, Command: e.Command, Timestamp: &at})
}

// Ended reports the end of the command, and the reason if it did not end by itself.
func (e *JSONEvents) Ended(code int, why string) {
	e.out.flush()
	e.err.flush()
	at, took := time.Now().UTC(), time.Since(e.Since).Seconds()
	e.to.Encode(event{Type: "complete", ExitCode: &code, Error: why, Duration: &took, Timestamp: &at})
}

// Fallback returns the beginning of the last event. If the connection breaks before that event, the reader adds the
// rest.
func (e *JSONEvents) Fallback() []byte { return []byte(`{"type":"complete"`) }

// Close implements io.Closer: there is nothing to release.
func (e *JSONEvents) Close() error { return nil }

// eventWriter makes an event of each write, with complete UTF-8 sequences.
type eventWriter struct {
	to   *json.Encoder
	typ  string
	held []byte // the beginning of a rune
}

func (w *eventWriter) Write(b []byte) (int, error) {
	all := append(w.held, b...)
	n := names.WholeRunes(all)
	w.held = append([]byte(nil), all[n:]...)
	if n == 0 {
		return len(b), nil
	}
	return len(b), w.to.Encode(event{Type: w.typ, Data: string(all[:n])})
}

// flush makes an event of a rune that the command did not complete.
func (w *eventWriter) flush() {
	if len(w.held) > 0 {
		w.to.Encode(event{Type: w.typ, Data: string(w.held)})
		w.held = nil
	}
}

// JSONObject writes one JSON object at the end of the command. Output is stored in files until then, which Close
// removes.
type JSONObject struct {
	Report
	spools [2]io.ReadWriteSeeker
}

// Object returns r in the form of one object at the end. spool creates the files for the output; Close closes them.
func (r Report) Object(spool func() (io.ReadWriteSeeker, error)) (*JSONObject, error) {
	o := &JSONObject{Report: r}
	for i := range o.spools {
		f, err := spool()
		if err != nil {
			o.Close()
			return nil, err
		}
		o.spools[i] = f
	}
	return o, nil
}

// Spool returns a file in dir for output that is delivered whole at the end. The file has no name, so closing it frees
// its space.
func Spool(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "spool-*")
	if err != nil {
		return nil, fmt.Errorf("store output: %w", err)
	}
	os.Remove(f.Name())
	return f, nil
}

// Out and Err are the writers for the command's output.
func (o *JSONObject) Out() io.Writer { return o.spools[0] }
func (o *JSONObject) Err() io.Writer { return o.spools[1] }

// maxFallback is the maximum number of bytes of a command in a fallback. As JSON, each byte has at most six.
const maxFallback = 8 << 10

// Fallback returns the beginning of an object without output for a reader that loses the writer. The reader
// completes it. A long command is cut.
func (o *JSONObject) Fallback() []byte {
	var b bytes.Buffer
	b.WriteString(`{"command":`)
	writeJSON(&b, o.Command[:min(len(o.Command), maxFallback)])
	b.WriteString(`,"stdout":"","stderr":"","duration":null,"timestamp":`)
	writeJSON(&b, o.Since.UTC().Format(time.RFC3339Nano))
	return b.Bytes()
}

// Started does nothing: an object has no start event.
func (o *JSONObject) Started(string, int) {}

// Close removes the files.
func (o *JSONObject) Close() error {
	for _, f := range o.spools {
		if c, ok := f.(io.Closer); ok {
			c.Close()
		}
	}
	return nil
}

// Ended reports the command's output, its result, and the reason if it did not end by itself.
func (o *JSONObject) Ended(code int, why string) {
	w := bufio.NewWriterSize(o.To, 32<<10)
	defer w.Flush()
	fmt.Fprint(w, `{"command":`)
	writeJSON(w, o.Command)
	for i, name := range []string{"stdout", "stderr"} {
		fmt.Fprintf(w, `,"%s":"`, name)
		o.spools[i].Seek(0, io.SeekStart)
		copyJSON(w, o.spools[i])
		fmt.Fprint(w, `"`)
	}
	fmt.Fprintf(w, `,"exit_code":%d`, code)
	if why != "" {
		fmt.Fprint(w, `,"error":`)
		writeJSON(w, why)
	}
	fmt.Fprintf(w, `,"duration":%.6f,"timestamp":`, time.Since(o.Since).Seconds())
	writeJSON(w, o.Since.UTC().Format(time.RFC3339Nano))
	fmt.Fprint(w, "}\n")
}

// NotRun reports a command that did not start, and the reason: an object, or the last event of start.
func (r Report) NotRun(start bool, code int, why string) {
	if start {
		r.Events().Ended(code, why)
		return
	}
	none := emptyFile{bytes.NewReader(nil)}
	(&JSONObject{Report: r, spools: [2]io.ReadWriteSeeker{none, none}}).Ended(code, why)
}

// emptyFile is the output of a command that did not start.
type emptyFile struct{ *bytes.Reader }

func (emptyFile) Write(b []byte) (int, error) { return len(b), nil }

func writeJSON(w io.Writer, s string) { w.Write(quoted(s)) }

// quoted is s as a JSON string.
func quoted(s string) []byte {
	var b bytes.Buffer
	encoder(&b).Encode(s) // strings always marshal
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// copyJSON copies r as the inside of a JSON string, whatever its length.
func copyJSON(w io.Writer, r io.Reader) {
	buf := make([]byte, 32<<10)
	held := 0
	for {
		n, err := r.Read(buf[held:])
		whole := names.WholeRunes(buf[:held+n])
		if err != nil {
			whole = held + n
		}
		b := quoted(string(buf[:whole]))
		w.Write(b[1 : len(b)-1])
		held = copy(buf, buf[whole:held+n])
		if err != nil {
			return
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// view is how a caller is shown what its command in a shell does.
type view interface {
	out() io.Writer
	err() io.Writer
	started(pid int)
	ended(code int)
	close()
}

func (r *shellRun) view() (view, error) {
	switch {
	case !r.o.json:
		return plainView{r}, nil
	case r.starts:
		return &eventView{shellRun: r, to: json.NewEncoder(r.p.writer(wire.KindStdout))}, nil
	}
	return newObjectView(r)
}

// plainView passes on what is written, as it is.
type plainView struct{ *shellRun }

func (v plainView) out() io.Writer { return v.p.writer(wire.KindStdout) }
func (v plainView) err() io.Writer { return v.p.writer(wire.KindStderr) }
func (v plainView) ended(int)      {}
func (v plainView) close()         {}

func (v plainView) started(pid int) {
	if v.starts {
		fmt.Fprintf(v.err(), "hostexec: request %s, pid %d\n", v.req.ID, pid)
	}
}

// eventView is a line of JSON for everything that happens: start, output, complete.
type eventView struct {
	*shellRun
	to *json.Encoder
}

type event struct {
	Type      string     `json:"type"`
	Request   string     `json:"request,omitempty"`
	PID       int        `json:"pid,omitempty"`
	Command   string     `json:"command,omitempty"`
	Data      string     `json:"data,omitempty"`
	ExitCode  *int       `json:"exit_code,omitempty"`
	Duration  *float64   `json:"duration,omitempty"` // seconds
	Timestamp *time.Time `json:"timestamp,omitempty"`
}

func (v *eventView) out() io.Writer { return &eventWriter{v: v, typ: "stdout"} }
func (v *eventView) err() io.Writer { return &eventWriter{v: v, typ: "stderr"} }
func (v *eventView) close()         {}

func (v *eventView) started(pid int) {
	at := v.since.UTC()
	v.to.Encode(event{Type: "start", Request: v.req.ID, PID: pid, Command: v.c.Text, Timestamp: &at})
}

func (v *eventView) ended(code int) {
	at, took := time.Now().UTC(), time.Since(v.since).Seconds()
	v.to.Encode(event{Type: "complete", ExitCode: &code, Duration: &took, Timestamp: &at})
}

// eventWriter makes an event of what is written, whole runes of it.
type eventWriter struct {
	v    *eventView
	typ  string
	held []byte // the beginning of a rune
}

func (w *eventWriter) Write(b []byte) (int, error) {
	all := append(w.held, b...)
	n := wholeRunes(all)
	w.held = append([]byte(nil), all[n:]...)
	if n == 0 {
		return len(b), nil
	}
	return len(b), w.v.to.Encode(event{Type: w.typ, Data: string(all[:n])})
}

// wholeRunes is how much of b is not the beginning of a rune that ends elsewhere.
func wholeRunes(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// objectView is one object, at the end. What is written waits for it in files.
type objectView struct {
	*shellRun
	spools [2]*os.File
}

func newObjectView(r *shellRun) (*objectView, error) {
	v := &objectView{shellRun: r}
	for i := range v.spools {
		f, err := r.s.Shells.Spool()
		if err != nil {
			v.close()
			return nil, err
		}
		v.spools[i] = f
	}
	return v, nil
}

func (v *objectView) out() io.Writer { return v.spools[0] }
func (v *objectView) err() io.Writer { return v.spools[1] }
func (v *objectView) started(int)    {}

func (v *objectView) close() {
	for _, f := range v.spools {
		if f != nil {
			f.Close()
		}
	}
}

func (v *objectView) ended(code int) {
	w := bufio.NewWriterSize(v.p.writer(wire.KindStdout), 32<<10)
	defer w.Flush()
	fmt.Fprint(w, `{"command":`)
	writeJSON(w, v.c.Text)
	for i, name := range []string{"stdout", "stderr"} {
		fmt.Fprintf(w, `,"%s":"`, name)
		v.spools[i].Seek(0, io.SeekStart)
		copyJSON(w, v.spools[i])
		fmt.Fprint(w, `"`)
	}
	fmt.Fprintf(w, `,"exit_code":%d,"duration":%.6f,"timestamp":`, code, time.Since(v.since).Seconds())
	writeJSON(w, v.since.UTC().Format(time.RFC3339Nano))
	fmt.Fprint(w, "}\n")
}

func writeJSON(w io.Writer, s string) {
	b, _ := json.Marshal(s) // strings always marshal
	w.Write(b)
}

// copyJSON copies r as the inside of a JSON string, whatever its length.
func copyJSON(w io.Writer, r io.Reader) {
	buf := make([]byte, 32<<10)
	held := 0
	for {
		n, err := r.Read(buf[held:])
		whole := wholeRunes(buf[:held+n])
		if err != nil {
			whole = held + n
		}
		b, _ := json.Marshal(string(buf[:whole])) // strings always marshal
		w.Write(b[1 : len(b)-1])
		held = copy(buf, buf[whole:held+n])
		if err != nil {
			return
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// maxAnswer is how many bytes a command may write to one stream: they stay on the host's
// disk until somebody fetches them.
const maxAnswer = 1 << 30

var errFull = errors.New("more than 1 GiB was written to one stream")

// output is a stream of the command's, and how much was written to it.
type output struct {
	f    *os.File
	n    int64
	held limit.Reservation
}

// add appends b. A nil output takes everything: nobody can have it.
func (o *output) add(b []byte) error {
	if o == nil || len(b) == 0 {
		return nil
	}
	if o.n+int64(len(b)) > maxAnswer {
		return errFull
	}
	if err := o.held.Set(o.n + int64(len(b))); err != nil {
		return err
	}
	n, err := o.f.Write(b)
	o.n += int64(n)
	o.held.Set(o.n)
	return err
}

func (o *output) close() {
	if o != nil {
		o.f.Close()
		o.held.Set(0)
	}
}

func (o *output) size() int64 {
	if o == nil {
		return 0
	}
	return o.n
}

// open makes the files of the streams before the command starts: they can be followed.
func (c *call) open() error {
	for _, s := range []struct {
		name string
		o    **output
	}{{".stdout", &c.out}, {".stderr", &c.err}} {
		f, err := c.p.Dir.Create(c.ask.id+s.name, c.ask.owner)
		if err != nil {
			return err
		}
		*s.o = &output{f: f, held: limit.Reservation{From: c.limits, Kind: limit.Spool}}
	}
	return nil
}

// answer is what <id>.status says, in this order, on one line.
type answer struct {
	Status string `json:"status"`
	Code   byte   `json:"code"`
	Signal string `json:"signal"`
	Stdout int64  `json:"stdout"`           // bytes
	Stderr int64  `json:"stderr"`           // bytes
	Stdin  uint64 `json:"stdin"`            // bytes that the command read, of those that were passed on
	Unread string `json:"unread,omitempty"` // the message for a caller whose stdin has data that the command did not get
	Reason string `json:"reason"`           // why the command ended, if not by itself
}

var statuses = map[wire.Outcome]string{
	wire.Failed: "failed", wire.Exited: "exited", wire.Signaled: "signaled", wire.Refused: "refused", wire.TimedOut: "timeout",
}

// finish writes the end of the call: when <id>.exit is there all else is. Who asked without
// a .cmd removes what it knows, and knows of no .status unless there is something to say.
func (c *call) finish(e wire.Exit) {
	unread := ""
	if e.Consumed >= wire.Withheld { // only the caller knows whether there is data
		unread, e.Text = strings.TrimSpace(e.Text), ""
	}
	c.err.add([]byte(e.Text))
	for _, what := range []string{"cmd", "stdin", "eof", "alive", "cancel", "beat", "bell"} {
		c.p.Dir.Remove(c.ask.id + "." + what)
	}
	if c.ask.hasCmdFile || e.Outcome != wire.Exited {
		a := answer{Status: statuses[e.Outcome], Code: e.Code, Signal: e.Signal, Stdout: c.out.size(), Stderr: c.err.size(), Stdin: e.Consumed, Unread: unread, Reason: strings.TrimSpace(e.Text)}
		line, err := json.Marshal(a)
		if err == nil {
			c.put("status", append(line, '\n'))
		}
	}
	c.p.finish(c, func() {
		// Not once .exit is there: a reader that fetches removes these one by one. What one
		// that goes from here on misses is swept.
		if c.callerGone || c.abandoned() {
			c.discard()
			return
		}
		c.put("exit", []byte(strconv.Itoa(int(e.Code))+"\n"))
		c.wakeup.Notify()
		// Who ends a call mostly removes all that it finds, and may have looked just before.
		if c.ended && c.abandoned() {
			c.discard()
		}
	})
}

// discard removes the answer.
func (c *call) discard() {
	for _, what := range []string{"stdout", "stderr", "status", "exit"} {
		c.p.Dir.Remove(c.ask.id + "." + what)
	}
}

// put makes a file in one step. One that cannot be made is one that its reader has planted
// a directory for.
func (c *call) put(what string, text []byte) {
	err := c.p.Dir.Write(c.ask.id+"."+what, text, c.ask.owner)
	if isFull(err) && c.reserve.release() {
		_ = c.p.Dir.Write(c.ask.id+"."+what, text, c.ask.owner)
	}
}

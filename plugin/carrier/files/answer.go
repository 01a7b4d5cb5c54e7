// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// maxOutput is the maximum size of one output stream, which stays on the host's disk until the caller fetches it.
const maxOutput = 1 << 30

var errFull = errors.New("more than 1 GiB was written to one stream")

// output is the file of an output stream.
type output struct {
	f    *os.File
	n    int64
	held limit.Reservation
}

// add appends b. A nil output drops it.
func (o *output) add(b []byte) error {
	if o == nil || len(b) == 0 {
		return nil
	}
	if o.n+int64(len(b)) > maxOutput {
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

// completeObject completes the JSON object that the host has begun for a caller, with the reason why the call ends.
func (c *call) completeObject(e wire.Exit) {
	if len(c.fallback) == 0 {
		return
	}
	reason, _ := json.Marshal(strings.TrimPrefix(strings.TrimSpace(e.Text), "hostexec: ")) // strings always marshal
	c.out.add(fmt.Appendf(c.fallback, `,"exit_code":%d,"error":%s}`+"\n", e.Code, reason))
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

// open creates the files of the output streams, which callers can read while the command runs.
func (c *call) open() error {
	for _, s := range []struct {
		name string
		o    **output
	}{{".stdout", &c.out}, {".stderr", &c.err}} {
		f, err := c.dir.Dir.Create(c.req.id+s.name, c.req.owner)
		if err != nil {
			return err
		}
		*s.o = &output{f: f, held: limit.Reservation{From: c.limits}}
	}
	return nil
}

// answer is the JSON object in <id>.status, or in the second line of <id>.exit, on one line.
type answer struct {
	Status        string `json:"status"`
	Code          byte   `json:"code"`
	Signal        string `json:"signal"`
	Stdout        int64  `json:"stdout"`           // bytes
	Stderr        int64  `json:"stderr"`           // bytes
	Stdin         uint64 `json:"stdin"`            // bytes that the command has read, of those that were passed on
	Unread        string `json:"unread,omitempty"` // the message for a caller whose stdin has data that the command did not get
	ReasonMissing bool   `json:"untold,omitempty"` // Reason is not in .stderr, because the disk is full
	Reason        string `json:"reason"`           // why the command ended, if not by itself
}

var statuses = map[wire.Outcome]string{
	wire.Failed: "failed", wire.Exited: "exited", wire.Signaled: "signaled", wire.Refused: "refused", wire.TimedOut: "timeout",
}

// finish writes the end of the call. <id>.exit is written last. Callers without a .cmd do not know .status and would
// not remove it: they get one only if the command did not exit by itself.
func (c *call) finish(e wire.Exit) {
	unread := ""
	if e.Consumed >= wire.Withheld { // only the caller knows whether there is data
		unread, e.Text = strings.TrimSpace(e.Text), ""
	}
	reasonMissing := e.Text != "" && (c.err == nil || c.err.add([]byte(e.Text)) != nil)
	for _, suffix := range []string{"cmd", "stdin", "eof", "alive", "cancel", "beat", "bell", "fallback"} {
		c.dir.Dir.Remove(c.req.id + "." + suffix)
	}
	exit := []byte(strconv.Itoa(int(e.Code)) + "\n")
	if c.req.hasCmdFile || e.Outcome != wire.Exited {
		a := answer{Status: statuses[e.Outcome], Code: e.Code, Signal: e.Signal, Stdout: c.out.size(), Stderr: c.err.size(), Stdin: e.Consumed, Unread: unread, ReasonMissing: reasonMissing, Reason: strings.TrimSpace(e.Text)}
		line, err := json.Marshal(a)
		switch line = append(line, '\n'); {
		case err != nil:
		case c.req.statusInExit:
			exit = append(exit, line...)
		default:
			c.writeFile("status", line)
		}
	}
	c.dir.finish(c, func() {
		// This precedes .exit, because a caller that sees .exit fetches and removes the files one by one. If that
		// caller dies, sweep removes the rest.
		if c.callerGone || c.abandoned() {
			c.discard()
			return
		}
		c.writeFile("exit", exit)
		c.wakeup.Notify()
		// A caller that cancels removes the files that it finds, and may have done so before .exit was written.
		if c.cancelSeen && c.abandoned() {
			c.discard()
		}
	})
}

// discard removes the answer.
func (c *call) discard() {
	for _, suffix := range []string{"stdout", "stderr", "status", "exit"} {
		c.dir.Dir.Remove(c.req.id + "." + suffix)
	}
}

// writeFile creates a file of the call in one step. If the disk is full, it uses the reserved space. It ignores other
// errors: the caller has created a directory of that name.
func (c *call) writeFile(suffix string, text []byte) {
	err := c.dir.Dir.Write(c.req.id+"."+suffix, text, c.req.owner)
	if limit.DiskFull(err) && c.reserve.release() {
		_ = c.dir.Dir.Write(c.req.id+"."+suffix, text, c.req.owner)
	}
}

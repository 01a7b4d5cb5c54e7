// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Process is an agent that runs as a process of this host. It is a child of its session's watcher, so it ends
// with the watcher, and with its caller.
type Process struct {
	Path string // absolute
	Args []string
	Env  []string
	Dir  string // its working directory; it may make calls from below
}

// Run runs p, and returns its exit code, or 128+n if signal n ended it. When ctx is done, p gets TERM, and KILL after
// AgentGrace.
func (c *Conn) Run(ctx context.Context, p Process) (code int, err error) {
	b, err := json.Marshal(encodeProcess(p))
	if err != nil {
		return 0, err
	}
	if err := c.send("process %s", b); err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, func() { _ = c.send("stop") })() // fails if the watcher has exited
	text, err := c.awaitValue("exited")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// encodedProcess is a Process in JSON: unlike strings, byte slices keep all bytes.
type encodedProcess struct {
	Path, Dir []byte
	Args, Env [][]byte
}

func encodeProcess(p Process) encodedProcess {
	return encodedProcess{[]byte(p.Path), []byte(p.Dir), convertAll[[]byte](p.Args), convertAll[[]byte](p.Env)}
}

// DecodeProcess is the inverse of the encoding in Conn.Run.
func DecodeProcess(text string) (Process, error) {
	var e encodedProcess
	err := json.Unmarshal([]byte(text), &e)
	return Process{string(e.Path), convertAll[string](e.Args), convertAll[string](e.Env), string(e.Dir)}, err
}

func convertAll[To, From string | []byte](all []From) (converted []To) {
	for _, v := range all {
		converted = append(converted, To(v))
	}
	return converted
}

// ReportExit reports that the process of Conn.Run has ended with code.
func (c *LauncherConn) ReportExit(code int) { fmt.Fprintln(c.f, "exited", strconv.Itoa(code)) }

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

// encodedProcess is a Process whose strings may contain any bytes.
type encodedProcess struct {
	Path, Dir []byte
	Args, Env [][]byte
}

func encodeProcess(p Process) encodedProcess {
	e := encodedProcess{Path: []byte(p.Path), Dir: []byte(p.Dir)}
	for _, arg := range p.Args {
		e.Args = append(e.Args, []byte(arg))
	}
	for _, kv := range p.Env {
		e.Env = append(e.Env, []byte(kv))
	}
	return e
}

// DecodeProcess is the inverse of the encoding in Conn.Run.
func DecodeProcess(text string) (Process, error) {
	var e encodedProcess
	err := json.Unmarshal([]byte(text), &e)
	return e.decode(), err
}

func (e encodedProcess) decode() Process {
	p := Process{Path: string(e.Path), Dir: string(e.Dir)}
	for _, arg := range e.Args {
		p.Args = append(p.Args, string(arg))
	}
	for _, kv := range e.Env {
		p.Env = append(p.Env, string(kv))
	}
	return p
}

// ReportExit reports that the process of Conn.Run has ended with code.
func (c *LauncherConn) ReportExit(code int) { fmt.Fprintln(c.f, "exited", strconv.Itoa(code)) }

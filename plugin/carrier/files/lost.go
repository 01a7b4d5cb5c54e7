// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// AnswerLost answers the calls that a killed watcher had begun. requests is the directory of the calls. Only calls of
// commands are answered. others reports whether other processes serve the same directory: then a call that does not
// name its command is not answered.
func AnswerLost(requests *dir.UntrustedDir, commands []string, others bool) {
	p := &servedDir{RequestDir: RequestDir{Dir: requests, Commands: commands}, inFlight: map[string]*call{}}
	var ids []string
	requests.Names(func(name string) bool { // if the directory cannot be read, no call is answered
		if id, kind, ok := split(name); ok && kind == "stdout" && p.lost(id, others) {
			ids = append(ids, id)
		}
		return len(ids) < maxCalls
	})
	for _, id := range ids {
		p.answerLost(id)
	}
}

// lost reports whether a call was begun, has no answer, and is not another watcher's.
func (p *servedDir) lost(id string, others bool) bool {
	for _, kind := range []string{".req", ".exit"} {
		if _, err := p.Dir.Stat(id + kind); err == nil {
			return false
		}
	}
	text, _, err := p.Dir.Read(id+".cmd", wire.MaxExec)
	if cmd := fields(text); err == nil && len(cmd) > 0 {
		return slices.Contains(p.Commands, strings.TrimSuffix(cmd[0], "\n"))
	}
	return !others
}

func (p *servedDir) answerLost(id string) {
	out, e, err := p.Dir.Append(id + ".stdout")
	if err != nil {
		return
	}
	c := newCall(p, request{id: id, owner: e})
	c.out = lostOutput(out, e)
	defer c.out.close()
	if errs, e, err := p.Dir.Append(id + ".stderr"); err == nil {
		c.err = lostOutput(errs, e)
		defer c.err.close()
	}
	c.wakeup = p.Dir.Wakeup(id + ".bell")
	defer c.wakeup.Close()
	if b, _, err := p.Dir.Read(id+".fallback", wire.MaxFrame); err == nil {
		c.fallback = b
	}
	end := carrier.Failed("the host's side of this call was killed: docker hostexec logs on the host may show more")
	c.completeObject(end)
	c.finish(end)
}

// lostOutput is a stream to which a killed watcher has written e.Size bytes.
func lostOutput(f *os.File, e dir.Entry) *output {
	return &output{f: f, n: e.Size, held: limit.Reservation{From: new(limit.Session)}}
}

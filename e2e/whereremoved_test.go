// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestIntegrationWhereRemoved removes the call container at each step between its create
// and its start, and lets an engine keep it. The call ends with an error, and nothing stays.
//
// Attack 210.
func TestIntegrationWhereRemoved(t *testing.T) {
	h := newHost(t, false)
	engine := &stepHook{}
	machine := newHost(t, false) // by whom the engine is asked behind the session's back
	h.Env = []string{"DOCKER_HOST=" + frontEngine(t, h, engine.on)}
	c := h.Holding(t, "--proxy", "csh=/bin/sh,where=container:"+image(t, "full")+",network=none")
	remove := func(id string) { machine.Must(t, "rm", "-f", id) }
	for name, tt := range map[string]struct {
		step string
		do   func(r *http.Request, id string)
		code int
		says string
	}{
		"before it is waited for": {"/wait", func(_ *http.Request, id string) { remove(id) }, 125, "No such container"},
		"before it is started":    {"/start", func(_ *http.Request, id string) { remove(id) }, 125, "No such container"},
		"while it starts": {"/start", func(_ *http.Request, id string) {
			machine.Must(t, "start", id) // its first process is there, and nobody has met it
			remove(id)
		}, 125, "No such container"},
		"the wait is not answered": {"/wait", func(r *http.Request, _ string) { <-r.Context().Done() }, 124, "timeout: ended after 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			engine.set(tt.step, tt.do)
			r := c.Exec(t, "hostexec", "--timeout", map[int]string{124: "1s", 125: "1h"}[tt.code], "csh", "-c", "echo ran")
			want(t, "code", r.Code, tt.code)
			want(t, "stdout", r.Out, "")
			wantText(t, r.Err, tt.says)
			want(t, "a call after it", c.Exec(t, "csh", "-c", "echo ran").Out, "ran\n")
			c.wantNoCallContainer(t)
		})
	}
	w := h.Watcher(t, c.Session)
	h.Must(t, "rm", "-f", c.ID)
	w.Ends(t, leaves+grace) // while its engine is there
}

// stepHook meddles with the next step of a call container.
type stepHook struct {
	mu   sync.Mutex // guards the fields below
	step string
	do   func(r *http.Request, id string)
}

func (m *stepHook) set(step string, do func(*http.Request, string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step, m.do = step, do
}

// on is what frontEngine asks for: it answers nothing itself.
func (m *stepHook) on(_ http.ResponseWriter, r *http.Request) bool {
	m.mu.Lock()
	path, match := strings.CutSuffix(r.URL.Path, m.step)
	do := m.do
	if match = match && do != nil && strings.Contains(path, "/containers/"); match {
		m.do = nil
	}
	m.mu.Unlock()
	if match {
		do(r, path[strings.LastIndex(path, "/")+1:])
	}
	return false
}

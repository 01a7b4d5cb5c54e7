// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sessionEnded is the reason that a person reads after the removal of a session's directory.
const sessionEnded = "the session has ended, because its files were removed: "

// removeSession removes the directory of a session, as a person might, and requires that its watcher and keeper end.
func (h *Host) removeSession(t testing.TB, session string) {
	t.Helper()
	watcher, keeper := h.Watcher(t, session), h.Keeper(t, session)
	dir := filepath.Join(h.State, "sessions", session)
	check(t, os.RemoveAll(dir))
	allEnd(t, []*Proc{watcher, keeper}, patience)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is there again: %v", err)
	}
}

// TestIntegrationSessionRemoved removes the directory of a container's session during a call. Nothing can list or stop
// the session then, so it ends. The watcher ran on, unlisted.
func TestIntegrationSessionRemoved(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, proxies(t)...)
			call, tree := treeOf(t, c)
			h.removeSession(t, c.Session)
			allEnd(t, tree, grace)
			want(t, "code", call.Ended(t).Code, 125)
		})
	}
}

// TestIntegrationSessionRemovedAgent removes the directory of an agent's session. The agent ends, and its client is told
// the reason.
func TestIntegrationSessionRemovedAgent(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		a, procs := h.running(t, mode)
		h.removeSession(t, h.session(t))
		allEnd(t, procs, stops)
		if r := a.Ended(t); r.Code == 0 || !strings.Contains(r.Err, "hostexec: "+sessionEnded+h.State) {
			t.Errorf("the client is told %v", r)
		}
		h.agentless(t)
	})
}

// TestIntegrationSessionRemovedProxy removes the directory of a proxy's session. The proxy ends with the reason, and its
// caller gets an answer.
func TestIntegrationSessionRemovedProxy(t *testing.T) {
	h := newHost(t, false)
	p := h.Proxy(t, "sh=/bin/sh")
	Submit(t, h.At("sh"), "a", "", "-c", "echo $$ >pid.tmp; mv pid.tmp pid; exec sleep 1000")
	eventually(t, patience, "the command runs", func() bool { _, err := os.Stat(h.Work + "/pid"); return err == nil })
	command := hold(t, atoi(t, string(readFile(t, h.Work+"/pid"))))
	h.removeSession(t, h.session(t))
	command.Ends(t, patience)
	want(t, "the caller's code", Answer(t, h.At("sh"), "a").Code, 125)
	want(t, "its code", p.Ended(t), 125)
	if says := p.errs.String(); !strings.HasPrefix(says, "hostexec: "+sessionEnded+h.State) || strings.Count(says, "\n") != 1 {
		t.Errorf("the proxy says %q", says)
	}
	want(t, "files left", strings.Join(protocol(t, h.At("sh")), " "), "")
	h.quiet(t, soon)
}

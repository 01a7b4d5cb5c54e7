// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// askers returns n containers whose calls of hsh are asked about, each with a directory of its own.
func askers(t *testing.T, h *Host, n int) (all []*Container) {
	t.Helper()
	h.Write(t, h.State, "config.yaml", "approval:\n  wait: always\n", 0o600)
	for i := range n {
		dir := filepath.Join(h.Work, "d"+itoa(i))
		check(t, os.Mkdir(dir, 0o777))
		all = append(all, h.Detached(t, "-v", dir+":/w", "-w", "/w", "--proxy", "hsh=ask,path=/bin/sh", image(t, "full"), "/probe", "hold"))
	}
	return all
}

// sameCalls makes the same call in each container, one after the other, and returns the calls and their requests.
func sameCalls(t *testing.T, all []*Container, script string) (calls []*Call, ids []string) {
	t.Helper()
	for i, c := range all {
		calls = append(calls, c.Start(t, "hsh", "-c", script))
		for _, q := range pending(t, c.Host, script, i+1) {
			if q.Session == c.Session {
				ids = append(ids, q.ID)
			}
		}
	}
	return calls, ids
}

// TestIntegrationGroup asks the same in several containers. The table has one row. An ID answers one request and names
// the others; a list of IDs reports which of them failed.
func TestIntegrationGroup(t *testing.T) {
	h := newHost(t, false)
	all := askers(t, h, 3)
	calls, ids := sameCalls(t, all, "pwd")
	table := strings.TrimSpace(h.Must(t, "hostexec", "pending", "--no-trunc"))
	if rows := strings.Split(table, "\n"); len(rows) != 2 || !strings.Contains(rows[1], strings.Join(ids, ", ")) || !strings.Contains(rows[1], h.Work+"/d0, "+h.Work+"/d1, "+h.Work+"/d2") {
		t.Errorf("pending shows\n%s", table)
	}
	groups := map[string]int{}
	for line := range strings.Lines(h.Must(t, "hostexec", "pending", "--format", "json")) {
		var row struct{ Group string }
		check(t, json.Unmarshal([]byte(line), &row))
		groups[row.Group]++
	}
	if len(groups) != 1 || groups[""] != 0 {
		t.Errorf("the rows have the groups %v, want the same", groups)
	}
	r := h.Docker(t, "hostexec", "approve", "--times", "2", ids[1])
	if r.Code != 0 || r.Out != ids[1]+"\n" || !strings.Contains(r.Err, "the same request waits elsewhere: docker hostexec approve --times 2 "+ids[0]+" "+ids[2]) {
		t.Errorf("approve of one: %v", r)
	}
	want(t, "stdout", calls[1].Ended(t).Out, h.Work+"/d1\n")
	want(t, "stdout, unasked", all[1].Exec(t, "hsh", "-c", "pwd").Out, h.Work+"/d1\n")
	want(t, "grants of another container", len(all[0].grants(t)), 0)
	r = h.Docker(t, "hostexec", "deny", ids[0], ids[1], ids[0], ids[2])
	if r.Code != 1 || r.Out != ids[0]+"\n"+ids[2]+"\n" || !strings.Contains(r.Err, "2 of 3 requests refused") || !strings.Contains(r.Err, "no request "+ids[1]+" waits") || strings.Contains(r.Err, "elsewhere") {
		t.Errorf("deny of three: %v", r)
	}
	want(t, "code", calls[0].Ended(t).Code, 126)
	want(t, "code", calls[2].Ended(t).Code, 126)
}

// TestIntegrationGroupByKey answers what several containers ask by one key of pending --watch. What comes later is
// shown before a key answers it, too.
func TestIntegrationGroupByKey(t *testing.T) {
	h := newHost(t, false)
	all := askers(t, h, 3)
	m := approver(t, h)
	calls, ids := sameCalls(t, all[:2], "pwd")
	m.Expect(t, "Request "+ids[0]+" and 1 of the same command elsewhere")
	m.Expect(t, "in "+h.Work+"/d0 (/w in the container)")
	m.Expect(t, "in "+h.Work+"/d1 (/w in the container)")
	m.Expect(t, "a for this session, ")
	late := all[2].Start(t, "hsh", "-c", "pwd")
	m.Expect(t, "The same request came once more.")
	m.Expect(t, "Request "+ids[0]+" and 2 of the same command")
	m.Expect(t, "a for this session, ")
	m.Type(t, "a")
	m.Expect(t, "3 of 3: Runs, each time in this session.")
	for i, call := range append(calls, late) {
		want(t, "stdout", call.Ended(t).Out, h.Work+"/d"+itoa(i)+"\n")
		want(t, "grants of its session", len(all[i].grants(t)), 1)
	}
}

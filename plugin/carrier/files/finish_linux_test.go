// SPDX-License-Identifier: Apache-2.0

package files

import (
	"maps"
	"os"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestFinish puts the status where the caller reads it.
func TestFinish(t *testing.T) {
	const status = `{"status":"exited","code":3,"signal":"","stdout":0,"stderr":0,"stdin":0,"reason":""}` + "\n"
	for _, tt := range []struct {
		name string
		req  request
		want map[string]string
	}{
		{"without a .cmd", request{}, map[string]string{"a.exit": "3\n"}},
		{"in a file", request{hasCmdFile: true}, map[string]string{"a.exit": "3\n", "a.status": status}},
		{"in .exit", request{hasCmdFile: true, statusInExit: true}, map[string]string{"a.exit": "3\n" + status}},
	} {
		p, at := openServedDir(t)
		tt.req.id, tt.req.owner = "a", ownEntry
		newCall(p, tt.req).finish(wire.Exit{Outcome: wire.Exited, Code: 3})
		left, err := os.ReadDir(at)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range left {
			got[e.Name()] = read(t, at+"/"+e.Name())
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestFinishUntold passes the reason in .exit if .stderr cannot be written.
func TestFinishUntold(t *testing.T) {
	p, at := openServedDir(t)
	c := newCall(p, request{id: "a", owner: ownEntry, hasCmdFile: true, statusInExit: true})
	c.finish(wire.Exit{Outcome: wire.Failed, Code: 125, Text: "hostexec: no space left\n"})
	want := "125\n" + `{"status":"failed","code":125,"signal":"","stdout":0,"stderr":0,"stdin":0,"untold":true,"reason":"hostexec: no space left"}` + "\n"
	if got := read(t, at+"/a.exit"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAnswerLostObject completes the object of a caller of JSON whose watcher was killed.
func TestAnswerLostObject(t *testing.T) {
	p, at := openServedDir(t)
	for what, text := range map[string]string{"stdout": "", "stderr": "", "cmd": "hostexec\x00exit=status\x00", "fallback": `{"type":"complete"`} {
		if err := os.WriteFile(at+"/a."+what, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	AnswerLost(p.Dir, []string{"hostexec"}, false)
	want := `{"type":"complete","exit_code":125,"error":"the host's side of this call was killed: docker hostexec logs on the host may show more"}` + "\n"
	if got := read(t, at+"/a.stdout"); got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if _, err := os.Stat(at + "/a.fallback"); !os.IsNotExist(err) {
		t.Errorf("the fallback is left: %v", err)
	}
}

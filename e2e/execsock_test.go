// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationExecSocket calls by JSON as a tool of the host. Only the user who started the
// session may.
//
// Attack 183.
func TestIntegrationExecSocket(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Shared(t, "socket")
			folder := filepath.Join(h.State, "sessions", c.Session)
			sock := filepath.Join(folder, "exec.sock")
			keys := map[string]string{}
			for _, name := range []string{"exec.secret", "token", "exec.sock"} {
				fi, err := os.Stat(filepath.Join(folder, name))
				check(t, err)
				want(t, "mode of "+name, fi.Mode().Perm(), 0o600)
				if name != "exec.sock" {
					keys[name] = strings.TrimSpace(string(readFile(t, filepath.Join(folder, name))))
				}
			}
			call := func(secret, token, workdir string, args ...string) string {
				b, err := json.Marshal(map[string]any{"secret": secret, "token": token, "workdir": workdir, "command": args[0], "args": args[1:]})
				check(t, err)
				return h.feed(t, string(b)+"\n", probePath(t), "talk", sock).Out
			}
			secret, token := keys["exec.secret"], keys["token"]
			check(t, os.MkdirAll(filepath.Join(h.Work, "sub"), 0o755))
			link := filepath.Join(h.Home, "link")
			if !exists(link) {
				check(t, os.Symlink(filepath.Join(h.Work, "sub"), link))
			}
			mark := marked(t)
			want(t, "a call", call(secret, token, h.Work, "hsh", "-c", "pwd; echo err >&2; exit 3", mark), fmt.Sprintf(`{"status":"completed","exit_code":3,"stdout":%s,"stderr":"err\n"}`+"\n", quotedJSON(h.Work+"\n")))
			want(t, "in the audit log", len(h.Audit(t, mark)), 3)
			want(t, "by a link", call(secret, token, link, "hsh", "-c", "pwd"), fmt.Sprintf(`{"status":"completed","exit_code":0,"stdout":%s}`+"\n", quotedJSON(h.Work+"/sub\n")))
			for _, tt := range []struct{ got, want string }{
				{call("x", "x", "/", "htrue"), "invalid secret"},
				{call(secret, "x", "/", "htrue"), "invalid token"},
				{call(secret, token, h.Home, "htrue"), "workdir mismatch"},
				{call(secret, token, h.Work, "banned"), "Command denied: denied by --proxy banned=deny"},
				{call(secret, token, h.Work, "nonesuch"), "Command denied: not a proxied command"},
			} {
				if !strings.Contains(tt.got, `"error":"`+tt.want) || !strings.Contains(tt.got, `"status":"error"`) {
					t.Errorf("%s, want %s", tt.got, tt.want)
				}
			}
			uid := os.Getuid()
			if h.cred != nil {
				uid = int(h.cred.Uid)
			}
			for _, flags := range [][]string{{"--user", itoa(uid)}, {"--pid", "host"}} {
				args := append([]string{"run", "--rm", "-i", "--label", runLabel, "--network", "none", "-v", folder + ":/s"}, flags...)
				r := h.feed(t, "{}\n", "docker", append(args, image(t, "full"), "/probe", "talk", "/s/exec.sock")...)
				if strings.Contains(r.Out, "{") {
					t.Errorf("a container with %q is answered: %v", flags, r)
				}
			}
		})
	}
}

// TestIntegrationExecSocketDown calls by exec.sock while the container is down. Only commands that the
// container may call run.
func TestIntegrationExecSocketDown(t *testing.T) {
	t.Parallel() // with others that have a host of their own
	h := newHost(t, false)
	c := h.Holding(t, "--restart", "on-failure", "--network", "none", "--proxy", "hsh=/bin/sh")
	folder := filepath.Join(h.State, "sessions", c.Session)
	read := func(name string) string { return strings.TrimSpace(string(readFile(t, filepath.Join(folder, name)))) }
	b, err := json.Marshal(map[string]any{"secret": read("exec.secret"), "token": read("token"), "workdir": h.Work, "command": "hsh", "args": []string{"-c", "echo ran"}})
	check(t, err)
	call := func() string {
		return h.feed(t, string(b)+"\n", probePath(t), "talk", filepath.Join(folder, "exec.sock")).Out
	}
	if got := call(); !strings.Contains(got, `"stdout":"ran\n"`) {
		t.Errorf("while it runs: %s", got)
	}
	h.Must(t, "kill", c.ID)
	eventually(t, patience, "the watcher knows", func() bool {
		return strings.TrimSpace(h.Must(t, "hostexec", "status", "-a", "--format", "{{.State}}")) != "running"
	})
	if got := call(); strings.Contains(got, "ran") { // it says why, or is gone by now
		t.Errorf("while it does not: %s", got)
	}
}

func quotedJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

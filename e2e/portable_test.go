// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// portablePlugin is the plugin as macOS has it, but for the few calls that only that system has.
var portablePlugin = sync.OnceValue(func() built {
	dir, err := os.MkdirTemp("", "hostexec-portable-")
	if err != nil {
		return built{err: err}
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "plugin")
	cmd := exec.Command("go", "build", "-tags", "portable", "-o", out, "../cmd/docker-hostexec")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return built{err: fmt.Errorf("build the portable plugin: %w\n%s", err, text)}
	}
	return place(out, "docker-hostexec-portable")
})

// portableHost is a host on which that is the plugin, and hsh a shell.
func portableHost(t *testing.T) *Host {
	t.Helper()
	h := newHost(t, false)
	link := filepath.Join(h.Home, ".docker", "cli-plugins", "docker-hostexec")
	check(t, os.Remove(link))
	check(t, os.Symlink(must(t, portablePlugin()), link))
	h.Write(t, h.State, "config.yaml", "approval: {wait: always}\n", 0o600)
	h.Env = []string{"PATH=" + shDir(t, h) + ":" + os.Getenv("PATH")}
	return h
}

// TestIntegrationPortableAgent calls commands from an agent where there is neither Linux's own
// way to call them nor a shim: arguments, stdio, codes, directories and what the policy says
// are as they are with them.
func TestIntegrationPortableAgent(t *testing.T) {
	h := portableHost(t)
	h.mkdir(t, filepath.Join(h.Work, "sub"))
	h.Write(t, h.Work, "list", "a\nb\nc\n", 0o644)
	h.Write(t, h.Work, "agent.sh", `
		hsh -c 'echo "$# $1 $2"; exit 7' - 'a  b' ''; echo "code $?"
		echo input | hsh -c 'cat; echo err >&2' 2>&1
		cd sub; hsh -c 'pwd -P'; cd ..
		while read x; do echo "line $x"; hsh -c 'read y; echo "read $y"'; done <list
		head -c 3000000 /dev/zero | hsh -c cat | wc -c
		hsh -c 'kill -TERM $$'; echo "code $?"
		hsh -c 'trap "echo told; exit 3" TERM; echo up >up; while :; do sleep 0.01; done' & p=$!
		until test -s up; do sleep 0.01; done
		kill -TERM $p; wait $p; echo "code $?"
		(cd / && hsh -c true 2>/dev/null; echo "outside $?")
		banned 2>/dev/null; echo "banned $?"
		hostexec none 2>/dev/null; echo "none $?"
	`, 0o644)
	r := h.Docker(t, "hostexec", "agent", "--proxy", "hsh", "--proxy", "banned=deny", "--", "sh", "agent.sh")
	want(t, "code", r.Code, 0)
	want(t, "the agent", r.Out, "2 a  b \ncode 7\ninput\nerr\n"+filepath.Join(h.Work, "sub")+"\nline a\nread b\nline c\nread \n3000000\ncode 143\ntold\ncode 3\noutside 126\nbanned 126\nnone 127\n")
	for kind, n := range map[string]int{"START": 8, "COMPLETE": 8, "DENY": 3} {
		want(t, kind, len(h.Audit(t, kind, " agent=sh ")), n)
	}
	want(t, "sessions", len(h.Sessions(t)), 0)
	r = h.Docker(t, "hostexec", "agent", "--", "sh", "-c", "kill -9 $$")
	want(t, "one that calls nothing, killed", r, Result{Code: 137})
	r = h.Docker(t, "hostexec", "run", "--proxy", "hsh", "none")
	want(t, "run is refused", r, Result{Code: 125, Err: "hostexec: sessions of containers are not supported on linux\n"})
}

// TestIntegrationPortableAgentAsks has a person answer, and nobody who was called.
func TestIntegrationPortableAgentAsks(t *testing.T) {
	h := portableHost(t)
	tried := filepath.Join(h.Work, "tried")
	h.Write(t, h.Work, "ask.sh", `
		hsh -c 'echo called' &
		until id=$(docker hostexec pending --format '{{.ID}}') && test -n "$id"; do sleep 0.05; done
		docker hostexec approve $id 2>/dev/null; echo "by itself $?"
		(setsid sh -c 'docker hostexec approve '$id' 2>/dev/null; echo "apart $?" >tried' &)
		wait`, 0o644)
	a := h.Agent(t, append([]string{"hostexec", "agent", "--proxy", "hsh=ask"}, echo(t, "process")...)...)
	a.write(t, "run", `["sh","ask.sh"]`)
	eventually(t, patience, "a try to approve", func() bool {
		b, err := os.ReadFile(tried)
		return err == nil && string(b) == "apart 1\n"
	})
	var q struct{ ID string }
	eventually(t, patience, "a question", func() bool {
		return json.Unmarshal([]byte(h.Must(t, "hostexec", "pending", "--format", "json")), &q) == nil && q.ID != ""
	})
	h.Must(t, "hostexec", "approve", q.ID)
	want(t, "answer", a.Line(t), answered(`"by itself 1\ncalled\n(0)"`))
	want(t, "code", a.Wait(t).Code, 0)
	want(t, "approved by a person", len(h.Audit(t, "APPROVE")), 1)
}

// TestIntegrationPortableAgentEnds kills the caller, and the watcher: what was called ends with
// all that it started, in whatever session that is.
func TestIntegrationPortableAgentEnds(t *testing.T) {
	for name, victim := range map[string]func(h *Host) *Proc{
		"watcher": func(h *Host) *Proc { return h.Watcher(t, h.session(t)) },
		"caller":  nil,
	} {
		h := portableHost(t)
		pids := filepath.Join(h.Work, "pids")
		h.Write(t, h.Work, "agent.sh", `
			hsh -c 'setsid sh -c "echo \$\$; exec sleep 1000" & (setsid sh -c "echo \$\$; exec sleep 1000" &) ; echo $$; wait' >pids & p=$!
			echo $p; read line; kill -KILL $p; wait $p; echo "code $?"; read line`, 0o644)
		a := h.Agent(t, "hostexec", "agent", "--proxy", "hsh", "--", "sh", "agent.sh")
		a.Line(t)
		var list []string
		eventually(t, patience, name+": three processes", func() bool {
			list = strings.Fields(string(readFile(t, pids)))
			return len(list) == 3
		})
		if victim != nil {
			victim(h).Signal(t, syscall.SIGKILL)
		} else {
			fmt.Fprintln(a.In, "kill")
			want(t, "killed", a.Line(t), "code 137")
		}
		for _, text := range list {
			pid, err := strconv.Atoi(text)
			check(t, err)
			eventually(t, patience, name+": process "+text+" ends", func() bool { return !lives(pid) })
		}
		fmt.Fprintln(a.In, "end")
		a.Ended(t)
		h.quiet(t, patience)
	}
}

// lives reports whether pid is no zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"
)

// TestIntegrationShellFiles checks that a command's exit status is written to one file, which is removed. exec/shell's
// TestIncompleteFile checks that the host does not read it too early.
func TestIntegrationShellFiles(t *testing.T) {
	needBash(t)
	for _, h := range dockerUsers(t) {
		g := shellBackend{Container: h.Holding(t, "--proxy-shell")}.make(t)
		want(t, "a first command", g.x(t, `x :`).Code, 0)
		dir := filepath.Join(h.State, "sessions", g.Session, "shells", "done")
		w, err := fsnotify.NewWatcher()
		check(t, err)
		defer w.Close()
		check(t, w.Add(dir))
		want(t, "a command", g.x(t, `x 'echo on'`).Out, "on\n")
		var seen []string
		for len(seen) < 2 {
			select {
			case e := <-w.Events:
				_, name, _ := strings.Cut(filepath.Base(e.Name), ".")
				if !e.Has(fsnotify.Write) && !e.Has(fsnotify.Chmod) {
					seen = append(seen, e.Op.String()+" "+name)
				}
			case err := <-w.Errors:
				t.Fatal(err)
			}
		}
		want(t, "what happened in "+dir, strings.Join(seen, ", "), "CREATE exit, REMOVE exit")
	}
}

// TestIntegrationShellPolled removes the watched directory from a shell in a container: files
// without a notification are found by polling.
func TestIntegrationShellPolled(t *testing.T) {
	needBash(t)
	h := dockerUsers(t)[0]
	name := h.target(t, "full", nil, "/probe", "hold")
	g := shellBackend{h.Holding(t, "--proxy-shell=allow,in="+name), name}.make(t)
	unwatched := `d=$(echo /tmp/hostexec-output-*/shells); mv $d/done $d/gone && mkdir $d/done; V=1`
	want(t, "without a watch", g.x(t, `x '`+unwatched+`'; x 'echo $V'`), Result{Out: "1\n"})
	r := g.x(t, `hostexec session start s -- 'echo $V; exit 3'`)
	if r.Out != "1\n" || r.Code != 3 || !strings.Contains(r.Err, "pid ") {
		t.Errorf("a copy: %v", r)
	}
	want(t, "files", g.x(t, `x 'sleep 2; ls $d/done $d/gone | grep -c "[.]exit"'`).Out, "0\n")
}

// TestIntegrationShellInstalled checks a shell's parts in a container: a program of the container's
// user whose file is removed, and the output files. If only root can put the program there, this is
// the same.
func TestIntegrationShellInstalled(t *testing.T) {
	needBash(t)
	h := dockerUsers(t)[0]
	for flags, tmp := range map[string]string{"--user 99": "/tmp", "--user 99 --read-only": "/dev/shm", "--user 0 --read-only --cap-drop ALL": "/dev/shm"} {
		t.Run(flags, func(t *testing.T) {
			name := h.target(t, "full", strings.Fields(flags), "/probe", "hold")
			g := shellBackend{h.Holding(t, "--proxy-shell=allow,in="+name), name}.make(t)
			want(t, "a command", g.x(t, `x 'V=1; (exit 3)'`).Code, 3)
			r := g.x(t, `hostexec session start s -- 'echo $V; exit 4'`)
			if r.Out != "1\n" || r.Code != 4 || !strings.Contains(r.Err, "pid ") {
				t.Errorf("a copy: %v", r)
			}
			text := `shopt -s nullglob; for f in /tmp/hostexec-* /dev/hostexec-* /dev/shm/hostexec-*; do echo "${f%-*}"; done`
			want(t, "files", g.x(t, `x '`+text+`'`).Out, tmp+"/hostexec-output\n")
			want(t, "user", g.x(t, `x 'id -u'`).Out, strings.Fields(flags)[1]+"\n")
			processes := h.Must(t, "top", name, "-eo", "pid,args")
			want(t, "programs", strings.Count(processes, "hostexec-shell serve"), 1)
			want(t, "programs that copy them", strings.Count(processes, "hostexec-install"), 0)
		})
	}
}

// TestIntegrationShellsAtOnce runs commands in many shells at once: no descriptor, file or
// process is left of them.
func TestIntegrationShellsAtOnce(t *testing.T) {
	forEachShellBackend(t, func(t *testing.T, g shellBackend) {
		w := g.Host.Watcher(t, g.Session)
		fds, shells := countFDs(t, w.PID), 100
		if g.in != "" {
			shells = 20 // three processes each, and an exec of the engine's
		}
		script := `for ((i = 0; i < $1; i++)); do ` + g.create(`s$i`) + ` || echo failed; done
			one() { for n in {1..10}; do r=$(hostexec session exec s$1 -- '((n++)); echo $n'); [[ $r == $n ]] || echo "s$1: $r, not $n"; done; }
			for ((i = 0; i < $1; i++)); do one $i & ((i % 10 == 9)) && wait; done; wait`
		r := g.Host.feedFor(t, 5*patience, "", "docker", g.execArgs(nil, "bash", "-c", script, "bash", strconv.Itoa(shells))...)
		want(t, "failures", r.Out+r.Err, "")
		want(t, "shells", strings.Count(g.Host.Must(t, "hostexec", "shell", "ls", g.ID), "idle"), shells)
		r = g.Host.feedFor(t, 5*patience, "", "docker", g.execArgs(nil, "bash", "-c", `for ((i = 0; i < $1; i++)); do hostexec session rm s$i & ((i % 10 == 9)) && wait; done`, "bash", strconv.Itoa(shells))...)
		want(t, "removed", r.Err, "")
		eventually(t, patience, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds+6 }) // what the next command needs, and an inotify watch
		eventually(t, patience, "no child of the watcher is left", func() bool { return len(children(t, w.PID)) == 0 })
		if g.in != "" {
			eventually(t, patience, "no process is left in the container", func() bool { return strings.Count(g.Host.Must(t, "top", g.in), "\n") == 2 })
			want(t, "files in the container", g.Host.Must(t, "exec", g.in, "bash", "-c", `shopt -s nullglob; echo /tmp/hostexec-*`), "\n")
		}
	})
}

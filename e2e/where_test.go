// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// places are the same programs twice: those whose names begin with h run on the host, those
// with c in a fresh container of the full image.
func places(t testing.TB) (flags []string) {
	t.Helper()
	for name, path := range map[string]string{"sh": "/bin/sh", "bash": "/bin/bash", "cat": "/bin/cat", "p": "/probe"} {
		on := path
		if name == "p" {
			on = probePath(t)
		}
		flags = append(flags, "--proxy", "h"+name+"="+on, "--proxy", "c"+name+"="+path+",where=container:"+image(t, "full"))
	}
	return flags
}

// whereRows are scripts for the caller's bash, in which X is one of the two.
var whereRows = []string{
	`Xsh -c 'echo out; echo err >&2; exit 3'`,
	`for n in 0 1 2 100 124 125 126 127 130 137 143 200 255; do Xsh -c "exit $n"; echo $?; done`,
	`for s in HUP INT QUIT TERM KILL USR1 SEGV ALRM; do Xsh -c "kill -$s \$\$"; echo $?; done 2>/dev/null`,
	`for a in '' ' ' $'two\nlines' $'tab\t' 'häß' '*' '"' '\'; do Xp print "$a"; done; Xp print $(seq 2000)`,
	`printf 'a\nb\nc\n' | while read l; do Xsh -c "echo got $l"; done`,
	`printf 'a\nb\n' >/tmp/w; { Xsh -c 'read l; echo first $l'; cat; } </tmp/w`,
	`head -c 300000 /dev/zero | Xcat | wc -c`,
	`Xsh -c 'head -c 3000000 /dev/zero' | wc -c`,
	`printf '\0\1\2\377\n\r' | Xcat | od -c`,
	`Xbash -c 'for i in {1..300}; do echo o; echo e >&2; done' 2>&1`,
	`Xbash -c 'for i in {1..300}; do echo o; echo e >&2; done' >/tmp/x 2>&1; cat /tmp/x`,
	`Xsh -c 'echo o; echo e >&2' >/tmp/y 2>/tmp/v; cat /tmp/y /tmp/v; Xsh -c 'echo more' >>/tmp/y; cat /tmp/y`,
	`Xsh -c 'exec yes' | head -1; echo ${PIPESTATUS[0]}`,
	`Xsh -c 'cat; echo end' <&-; Xsh -c 'echo out' >/dev/null; Xsh -c 'echo none' >&-; echo $?`,
	`Xsh -c 'echo by name >/dev/stdout; echo err >/dev/stderr' | cat`,
	`TERM=vt100 NO_COLOR=1 SECRET=x Xsh -c 'echo $TERM $NO_COLOR [$SECRET]'`,
	`Xsh -c 'sleep 1000 >/dev/null 2>&1 & echo answered' | cat`,
	`Xsh -c 'echo text >made; cat made; rm made'`,
	`timeout 1 Xsh -c 'sleep 1000'; echo $?`,
}

// TestIntegrationWhere runs every row in both places: the bytes and the codes are the same.
func TestIntegrationWhere(t *testing.T) {
	for _, h := range anyUser(t) {
		c := h.Holding(t, places(t)...)
		bothPlaces(t, c, whereRows)
		c.wantNoCallContainer(t)
	}
}

// bothPlaces runs each of rows, in which X is h or c, on the host and in a container, and returns when all have ended.
// They start many containers, for which they wait beside one another: no two have a file in common.
func bothPlaces(t *testing.T, c *Container, rows []string) {
	t.Helper()
	t.Run(c.Host.Name, func(t *testing.T) {
		for _, row := range rows {
			t.Run(row, func(t *testing.T) {
				t.Parallel()
				on := c.Long(t, strings.ReplaceAll(row, "X", "h"))
				in := c.Long(t, strings.ReplaceAll(row, "X", "c"))
				if in != on {
					t.Errorf("in a container: %v\non the host: %v", in, on)
				}
			})
		}
	})
}

// wantNoCallContainer wants no call container of the session to be left.
func (c *Container) wantNoCallContainer(t testing.TB) {
	t.Helper()
	eventually(t, grace, "no call container is left", func() bool { return len(c.callContainers(t)) == 0 })
	folder := filepath.Join(c.Host.State, "sessions", c.Session, "callcontainers")
	eventually(t, grace, "no call container is left", func() bool {
		list, _ := os.ReadDir(folder) // it may never have been made
		return len(list) == 0
	})
}

// callContainers lists the containers of the session's commands.
func (c *Container) callContainers(t testing.TB) []string {
	t.Helper()
	return strings.Fields(c.Host.Must(t, "ps", "-aq", "--filter", "label=io.hostexec.call="+c.Session))
}

// TestIntegrationWhereTerminal types at a terminal in both places.
func TestIntegrationWhereTerminal(t *testing.T) {
	for _, h := range dockerUsers(t) {
		c := h.Holding(t, places(t)...)
		for _, x := range []string{"h", "c"} {
			t.Run(h.Name+"/"+x, func(t *testing.T) { useTerminal(t, c, x) })
		}
		c.wantNoCallContainer(t)
	}
}

func useTerminal(t *testing.T, c *Container, x string) {
	m := c.Term(t, x+"p", "sizes")
	m.Expect(t, "24 80\r\n")
	m.Resize(t, 40, 100)
	m.Expect(t, "40 100\r\n")
	m.Type(t, "\r")
	want(t, "code", m.Wait(t), 0)

	m = c.Shell(t)
	want(t, "terminals", m.Do(t, x+`sh -c 'tty >/dev/null && test -t 0 -a -t 1 -a -t 2 && echo yes >/dev/tty; exit 3'; echo $?`), "yes\r\n3\r\n")
	m.Type(t, x+"sh -c 'echo begin; read a; echo got $a; exec cat'\r")
	m.Expect(t, "\r\nbegin\r\n")
	m.Type(t, "word\r")
	m.Expect(t, "word\r\ngot word\r\n")
	m.Type(t, "\x1a")
	m.Expect(t, "Stopped")
	m.Expect(t, "ready> ")
	want(t, "the shell has the terminal", m.Do(t, "echo between"), "between\r\n")
	m.Type(t, "fg\r")
	m.Expect(t, "exec cat'\r\n")
	m.Type(t, "two\r")
	m.Expect(t, "two\r\ntwo\r\n")
	m.Type(t, "\x04")
	m.Expect(t, "ready> ")
	m.Type(t, "while :; do "+x+"sh -c 'echo tick; exec sleep 1000'; done\r")
	m.Expect(t, "\r\ntick\r\n")
	m.Type(t, "\x03")
	shown := m.Expect(t, "ready> ")
	want(t, "another tick", strings.Contains(shown, "tick"), false)
	m.Exit(t)
}

// TestIntegrationWhereSignals sends signals that are caught, in both places.
func TestIntegrationWhereSignals(t *testing.T) {
	const script = `for s in HUP INT QUIT TERM USR1 USR2 WINCH CONT; do trap "echo got $s" $s; done
		echo ready; while read -t 0.05 x || [ $? -gt 128 ]; do :; done; exit 4`
	for _, h := range dockerUsers(t) {
		c := h.Holding(t, places(t)...)
		for _, x := range []string{"hbash", "cbash"} {
			call := c.Start(t, x, "-c", script)
			want(t, "line", call.Line(t), "ready")
			for _, sig := range []string{"USR1", "USR2", "WINCH", "HUP", "INT", "QUIT", "TERM", "CONT"} {
				call.Signal(t, sig)
				want(t, "line", call.Line(t), "got "+sig)
			}
			want(t, "code", call.Wait(t).Code, 4)
		}
		c.wantNoCallContainer(t)
	}
}

// TestIntegrationWhereNothingStays breaks things while a command runs in a container, whose
// tree has an orphan that ignores TERM: no container stays.
//
// Attacks 208, 209.
func TestIntegrationWhereNothingStays(t *testing.T) {
	for _, h := range anyUser(t) {
		c := h.Holding(t, places(t)...)
		start := func() *Call {
			call := c.Start(t, "cp", "tree")
			for range 4 {
				call.Line(t)
			}
			want(t, "containers", len(c.callContainers(t)), 1)
			return call
		}
		t.Run(h.Name+"/shim killed", func(t *testing.T) {
			call := start()
			call.Signal(t, "KILL")
			want(t, "code", call.Ended(t).Code, 137)
			c.wantNoCallContainer(t)
		})
		t.Run(h.Name+"/its container removed", func(t *testing.T) {
			call := start()
			h.Must(t, "rm", "-f", c.callContainers(t)[0])
			want(t, "code", call.Ended(t).Code, 137)
			c.wantNoCallContainer(t)
		})
		t.Run(h.Name+"/watcher killed", func(t *testing.T) {
			call := start()
			h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
			want(t, "code", call.Ended(t).Code, 125)
			eventually(t, grace, "no call container is left", func() bool { return len(c.callContainers(t)) == 0 })
			h.Must(t, "hostexec", "resume", c.ID)
			want(t, "a call after resume", c.Exec(t, "csh", "-c", "echo back").Out, "back\n")
		})
		t.Run(h.Name+"/keeper and watcher killed", func(t *testing.T) {
			call := start()
			watcher := h.Watcher(t, c.Session)
			h.Keeper(t, c.Session).Signal(t, syscall.SIGKILL)
			watcher.Signal(t, syscall.SIGKILL)
			want(t, "code", call.Ended(t).Code, 125)
			eventually(t, grace, "no call container is left", func() bool { return len(c.callContainers(t)) == 0 })
			h.Must(t, "hostexec", "resume", c.ID)
			want(t, "a call after resume", c.Exec(t, "csh", "-c", "echo back").Out, "back\n")
		})
		t.Run(h.Name+"/left over", func(t *testing.T) {
			id := h.leftover(t, nil, "hostexec-"+unique("left"), image(t, "full"))
			other := h.leftover(t, nil, "of-"+unique("committed"), image(t, "full")) // its image was made of such a container
			call := start()
			h.Must(t, "hostexec", "prune", "-f")
			want(t, "the leftover", h.Docker(t, "inspect", id).Code, 1)
			want(t, "what only has its labels", h.Docker(t, "inspect", other).Code, 0)
			want(t, "containers of a session that lives", len(c.callContainers(t)), 1)
			call.Signal(t, "TERM")
			want(t, "code", call.Ended(t).Code, 143)
		})
		t.Run(h.Name+"/container stopped", func(t *testing.T) {
			start()
			h.Must(t, "rm", "-f", c.ID)
			eventually(t, leaves+grace, "no call container is left", func() bool { return len(c.callContainers(t)) == 0 })
		})
	}
}

// leftover makes a container with the labels of a command's whose session is gone.
func (h *Host) leftover(t testing.TB, flags []string, name, image string) (id string) {
	t.Helper()
	id = strings.TrimSpace(h.Must(t, append(flags, "run", "-d", "--name", name, "--label", runLabel, "--label", "io.hostexec.call=000000000000",
		"--label", "io.hostexec.request="+strings.TrimPrefix(name, "hostexec-"), "--label", "io.hostexec.home="+h.State, image, "/probe", "hold")...))
	t.Cleanup(func() { h.Docker(t, append(flags, "rm", "-f", id)...) })
	return id
}

// TestIntegrationWhereAtOnce makes twenty calls at once.
func TestIntegrationWhereAtOnce(t *testing.T) {
	h := dockerUsers(t)[0]
	c := h.Holding(t, places(t)...)
	w := h.Watcher(t, c.Session)
	c.Exec(t, "csh", "-c", "true") // what is kept is there now
	c.wantNoCallContainer(t)
	fds := countFDs(t, w.PID)
	r := h.feedFor(t, 4*patience, "", "docker", c.execArgs(nil, "bash", "-c", `for i in {1..20}; do csh -c "echo $i" & done | sort -n; wait`)...)
	var all strings.Builder
	for i := range 20 {
		fmt.Fprintln(&all, i+1)
	}
	want(t, "stdout", r.Out, all.String())
	want(t, "stderr", r.Err, "")
	c.wantNoCallContainer(t)
	eventually(t, soon, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds })
}

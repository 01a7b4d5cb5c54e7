// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// Attacks with descriptors: of what the container makes the host read, write, close or open.

// TestIntegrationAttackStuckFile passes files of a file system whose server, a process of the
// container, never answers, so that closing one blocks. Each call is refused, and others run
// meanwhile. The number of blocked threads is limited, and all are released.
//
// Attack 31.
func TestIntegrationAttackStuckFile(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.Holding(t, "--device", "/dev/fuse", "--cap-add", "SYS_ADMIN", "--proxy", "hsh=/bin/sh")
	w := h.Watcher(t, c.Session)
	server := c.Start(t, "bash", "-c", "mkdir -p /tmp/from /tmp/at; echo x > /tmp/from/f; exec /probe fuse /tmp/from /tmp/at stuck")
	want(t, "line", server.Line(t), "ready")
	send := func(n int) *Call {
		call := c.Start(t, "bash", "-c", `n=$1; shift; for ((i = 0; i < n; i++)); do for frame; do /probe send /tmp/at/f half <<< "$frame" & done; done; wait`, "bash", itoa(n),
			hex.EncodeToString(passing(1, wire.FDPipe)), hex.EncodeToString(passing(1, wire.FDSocket)),
			hex.EncodeToString(passing(2, wire.FDNull, wire.FDPipe)), hex.EncodeToString(passing(2, wire.FDNull, wire.FDTTY)))
		for range 4 * n { // each prints what it is told, and then waits at its end
			reply, err := hex.DecodeString(call.Line(t))
			check(t, err)
			if !strings.Contains(string(reply), "hostexec: not a request: ") {
				t.Errorf("the answer is %q", reply)
			}
		}
		return call
	}
	few := send(8)
	want(t, "another call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	many := send(12)
	within(t, "threads of the watcher", statusNum(t, w.PID, "Threads"), 64+48)
	want(t, "a call when too many wait", c.Exec(t, "hsh", "-c", "echo called").Code, 125)
	server.Signal(t, "KILL")
	few.Ended(t)
	many.Ended(t)
	eventually(t, soon, "a call is answered again", func() bool { return c.Exec(t, "hsh", "-c", "echo called").Out == "called\n" })
}

// TestIntegrationAttackPrivilegedWrite passes files for which the kernel checks the privileges of
// the writing process, not of the opener. Nothing is written.
//
// Attack 30.
func TestIntegrationAttackPrivilegedWrite(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.Holding(t, "--security-opt", "systempaths=unconfined", "-v", "/sys/fs/cgroup:/cgroup", "--proxy", "hsh=/bin/sh")
	const domain = "/proc/sys/kernel/domainname" // the writer's, whoever opened it
	before := string(readFile(t, domain))
	files := []string{domain, "/proc/self/uid_map", "/proc/self/oom_score_adj", "/proc/self/attr/exec"}
	groups := strings.Fields(c.Sh(t, `for f in /cgroup/{,*/}docker/$1/cgroup.procs; do test -w $f && echo $f; done`, c.ID).Out)
	if len(groups) == 0 {
		t.Fatal("the container can write no cgroup file")
	}
	for _, name := range append(files, groups...) {
		if r := c.Sh(t, `exec 3<>"$1"`, name); r.Code != 0 {
			t.Errorf("the container cannot open %s: %v", name, r)
		}
		for _, kind := range []wire.FD{wire.FDPipe, wire.FDSocket, wire.FDTTY} {
			if started, exit := c.exchange(t, name, passing(2, wire.FDNull, kind)); started || exit == nil || exit.Outcome != wire.Failed {
				t.Errorf("%s as %v: started %t, exit %+v", name, kind, started, exit)
			}
		}
	}
	want(t, "the host's domain name", string(readFile(t, domain)), before)
	want(t, "STARTs", len(h.Audit(t, "HOSTEXEC START")), 0)
	c.Feed(t, hex.EncodeToString(passing(2, wire.FDNull, wire.FDPipe))+"\n", "/probe", "send", "w")
	want(t, "STARTs with a pipe", len(h.Audit(t, "HOSTEXEC START")), 1)
}

// TestIntegrationAttackTerminalNumber passes a terminal of the container that has the number
// of one of the host's: both have the same name and device number. What the command writes
// goes to the one that was passed. When that is hung up neither the watcher nor anything else
// gets a signal, because it became nobody's controlling terminal.
//
// Attacks 37, 38.
func TestIntegrationAttackTerminalNumber(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh")
	w := h.Watcher(t, c.Session)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	check(t, err)
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	check(t, err)
	check(t, unix.SetNonblock(int(master.Fd()), true)) // Fd has made it block
	frame := request(func(m *wire.Exec) {
		m.Args[2] = `echo to $(readlink /proc/self/fd/2); read -r pid name state ppid pgrp session tty rest </proc/$$/stat; echo "tty $tty"` // of a name without blanks
		m.Passed, m.FDs[1], m.SameOut = 2, wire.FDTTY, true
	})
	r := c.Feed(t, hex.EncodeToString(frame)+"\n", "/probe", "ptscall", itoa(n))
	if !strings.Contains(r.Out, "tty 0\r\n") {
		t.Errorf("the terminal that was passed shows %v", r)
	}
	var b [256]byte
	if got, err := unix.Read(int(master.Fd()), b[:]); err != unix.EAGAIN {
		t.Errorf("the host's terminal of that number shows %q, %v", b[:max(got, 0)], err)
	}
	fields := strings.Fields(string(readFile(t, "/proc/"+itoa(w.PID)+"/stat")))
	want(t, "the watcher's controlling terminal", fields[6], "0")
	want(t, "the watcher has gone", w.Gone(0), false)
	want(t, "a call after it", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
}

// TestIntegrationAttackSplice splices pages of the caller's memory into a captured stdin, and
// changes them after a person has seen their content. The content that was shown is used.
//
// Attacks 32, 33.
func TestIntegrationAttackSplice(t *testing.T) {
	h, _ := hostWithCanary(t)
	h.Write(t, h.State, "config.yaml", "version: 1\napproval: {wait: always}\ncommands:\n  sh:\n    exec: /bin/sh\n    rules: [{id: s, do: ask, stdin: capture(64KiB), argv: [-s]}]\n", 0o600)
	c := h.Holding(t)
	late := `mkfifo /tmp/changed; /probe splice "$1" "$2" 2>/tmp/changed | { read -r _ </tmp/changed; cat; }`
	want(t, "who reads late gets", c.Sh(t, late, "echo good", "echo EVIL").Out, "echo EVIL\n") // or nothing was attacked
	call := c.Start(t, "bash", "-c", `/probe splice "$1" "$2" 2>/tmp/said | hostexec sh -s`, "bash", "echo good", "echo EVIL")
	q := pending(t, h, "sh", 1)[0]
	sum := sha256.Sum256([]byte("echo good\n"))
	if shown := h.Must(t, "hostexec", "pending", "--format", "json"); !strings.Contains(shown, "echo good") || !strings.Contains(shown, hex.EncodeToString(sum[:])) {
		t.Errorf("what is shown: %s", shown)
	}
	call.In.Close()
	eventually(t, patience, "the pages are changed", func() bool { return c.Exec(t, "cat", "/tmp/said").Out == "changed\n" })
	h.Must(t, "hostexec", "approve", q.ID)
	want(t, "stdout", call.Ended(t).Out, "good\n")
}

// TestIntegrationAttackRightsQuota uses up the number of descriptors that a container's user may
// have in flight. Calls of that user are still carried, and those of other users as before.
//
// Attack 41.
func TestIntegrationAttackRightsQuota(t *testing.T) {
	h, _ := hostWithCanary(t)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh", "--proxy", "hcat=/bin/cat")
	other := h.Holding(t, "--proxy", "hsh=/bin/sh")
	const user = "54321" // of no other test: the kernel counts for the whole machine
	filler := c.As(user).Start(t, "/probe", "inflight", "1000")
	want(t, "line", filler.Line(t), "full")
	limited := func(script string) Result { return c.As(user).Sh(t, "ulimit -n 256; "+script) } // less than is in flight
	if r := limited("/probe inflight 200"); !strings.Contains(r.Err, "too many references") {
		t.Fatalf("the quota is not used up: %v", r)
	}
	want(t, "a call of that user", limited(`hsh -c "echo out; echo err >&2; exit 7" 2>&1 | cat; echo ${PIPESTATUS[0]}`).Out, "out\nerr\n7\n")
	want(t, "one that reads", limited("seq 3 | hcat | cat").Out, "1\n2\n3\n")
	want(t, "one of another user", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	want(t, "one of another session", other.As(user).Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	want(t, "code", filler.Wait(t).Code, 0)
}

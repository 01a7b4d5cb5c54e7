// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// behaviour is one thing that calls do, with its name in tables/carriers.md.
type behaviour struct {
	name  string
	check func(t *testing.T, c *Container)
}

// behaviours are what one would miss of a local command.
var behaviours = []behaviour{
	{"arguments, byte for byte", script(`hp args '' 'a b' $'\n\xff' '$HOME' '*' '"' -- --help`, `["\"\"","\"a b\"","\"\\n\\xff\"","\"$HOME\"","\"*\"","\"\\\"\"","\"--\"","\"--help\""]`+"\n")},
	{"exit codes", script(`for i in 0 1 2 42 125 126 127 128 255; do hsh -c "exit $i"; echo $?; done`, "0\n1\n2\n42\n125\n126\n127\n128\n255\n")},
	{"a signal that the command dies of", script(`hsh -c 'kill -TERM $$' 2>/dev/null; echo $?; hsh -c 'kill -KILL $$' 2>/dev/null; echo $?`, "143\n137\n")},
	{"what cannot run: 126, 127", script(`hostexec nosuch 2>/dev/null; echo $?; hostexec banned 2>/dev/null; echo $?`, "127\n126\n")},
	{"stdout and stderr are separate", script(`e=$(hsh -c 'echo out; echo err >&2' 2>&1 >/dev/null); o=$(hsh -c 'echo out; echo err >&2' 2>/dev/null); echo $o $e`, "out err\n")},
	{"a megabyte of output, byte for byte", script(`hsh -c 'head -c 1000000 /dev/zero | tr "\0" "\377"; printf "\0\1\r\n"' | cksum; { head -c 1000000 /dev/zero | tr "\0" "\377"; printf "\0\1\r\n"; } | cksum`, "")},
	{"2>&1 in order", script(`hsh -c 'for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done' 2>&1 | tr -d '\n'`, "o1e1o2e2o3e3o4e4o5e5o6e6o7e7o8e8")},
	{"stdin, to its end", script(`seq 200000 | hsh -c 'tail -1; echo end'; hsh -c 'wc -c' </dev/null`, "200000\nend\n0\n")},
	{"an answer to each line of stdin", func(t *testing.T, c *Container) {
		call := c.Start(t, "hsh", "-c", `while read l; do echo got $l; done; echo end`)
		for _, line := range []string{"one", "two"} {
			fmt.Fprintln(call.In, line)
			want(t, "answer", call.Line(t), "got "+line)
		}
		want(t, "the rest", call.Wait(t).Out, "end\n")
	}},
	{"output while it runs", func(t *testing.T, c *Container) {
		call := c.Start(t, "hsh", "-c", `echo $$; while [ ! -e go ]; do sleep 0.05; done; rm go; echo later`)
		p := call.Host(t)
		want(t, "it runs", p.Gone(0), false)
		c.Host.Write(t, c.Host.Work, "go", "", 0o644)
		want(t, "then", call.Line(t), "later")
		want(t, "code", call.Wait(t).Code, 0)
	}},
	{"a loop over a file keeps its lines", script(`seq 3 >/tmp/$$; while read n; do hsh -c 'echo line $1' x $n; done </tmp/$$`, "line 1\nline 2\nline 3\n")},
	{"a loop over a pipe keeps its lines", script(`seq 3 | while read n; do hsh -c 'echo line $1' x $n; done`, "line 1\nline 2\nline 3\n")},
	{"a closed stdout ends the command", script(`hsh -c 'while :; do echo y; done' 2>/dev/null | head -1`, "y\n")},
	{"the command's directory", func(t *testing.T, c *Container) {
		want(t, "where it runs", c.Sh(t, `cd sub; hsh -c pwd`).Out, c.Host.Work+"/sub\n")
		want(t, "where there is none", c.Sh(t, `cd /; hsh -c pwd`).Code, 126)
	}},
	{"the command's environment is the host's", func(t *testing.T, c *Container) {
		want(t, "variables", c.Sh(t, `HOST_SECRET=mine LD_PRELOAD= X=1 hsh -c 'echo $HOST_SECRET $X'`).Out, "of the host\n")
	}},
	{"signals, by name", func(t *testing.T, c *Container) {
		call := c.Start(t, "hbash", "-c", `for s in HUP INT TERM USR1; do trap "echo got $s" $s; done; echo ready; while read -t 0.05 x || [ $? -gt 128 ]; do :; done; exit 4`)
		want(t, "line", call.Line(t), "ready")
		for _, sig := range []string{"USR1", "HUP", "INT", "TERM"} {
			call.Signal(t, sig)
			want(t, "line", call.Line(t), "got "+sig)
		}
		want(t, "code", call.Wait(t).Code, 4)
	}},
	{"TERM to the caller ends the command", func(t *testing.T, c *Container) {
		call, p := toldByFile(t, c)
		call.Signal(t, "TERM")
		p.Ends(t, patience)
		call.Ended(t)
	}},
	{"KILL to the caller ends the command", func(t *testing.T, c *Container) {
		call, p := toldByFile(t, c)
		call.Signal(t, "KILL")
		p.Ends(t, patience)
	}},
	{"a terminal", func(t *testing.T, c *Container) {
		m := c.Shell(t)
		if got := m.Do(t, "htty"); !strings.HasPrefix(got, "/dev/pts/") {
			t.Errorf("its terminal is %q", got)
		}
		want(t, "its size", m.Do(t, "hstty size"), "24 80\r\n")
		m.Type(t, `hsh -c 'echo waits; until [ "$(stty size)" = "30 100" ]; do sleep 0.05; done; echo resized'`+"\r")
		m.Expect(t, "\r\nwaits\r\n")
		m.Resize(t, 30, 100)
		m.Expect(t, "resized\r\nready> ")
		m.Exit(t)
	}},
	{"^C and ^Z", func(t *testing.T, c *Container) {
		m := c.Shell(t)
		m.Type(t, "hsh -c 'echo pid=$$=; exec sleep 1000'\r")
		p := hostPID(t, m)
		m.Type(t, "\x1a")
		m.Expect(t, "Stopped")
		m.Expect(t, "ready> ")
		eventually(t, patience, "it is stopped", func() bool { return p.State() == "T" })
		m.Type(t, "fg\r")
		eventually(t, patience, "it goes on", func() bool { return p.State() == "S" })
		m.Type(t, "\x03")
		p.Ends(t, patience)
		m.Expect(t, "ready> ")
		m.Exit(t)
	}},
	{"thirty calls at once", script(`for i in {1..30}; do hsh -c 'echo $1; exit $1' x $i >/tmp/$$.$i & p[i]=$!; done; for i in {1..30}; do wait ${p[i]}; [[ $? == $i && $(</tmp/$$.$i) == $i ]] && echo -n .; done`, strings.Repeat(".", 30))},
	{"a call whose output nobody reads delays no other", func(t *testing.T, c *Container) {
		stalled := c.Start(t, "bash", "-c", `exec 9<&0; hsh -c 'echo $$; exec yes' 2>/dev/null | { read pid; echo $pid; read <&9; }`)
		p := stalled.Host(t)
		want(t, "another", c.Sh(t, `hsh -c 'seq 100000 | tail -1'`).Out, "100000\n")
		want(t, "it is still there", p.Gone(0), false)
		stalled.Wait(t)
		p.Ends(t, patience)
	}},
	{"a timeout of the caller's own", func(t *testing.T, c *Container) {
		r := c.Sh(t, `HOSTEXEC_TIMEOUT=500ms hsh -c 'echo partial; exec sleep 1000'`)
		want(t, "what came", r.Out, "partial\n")
		want(t, "code", r.Code, 124)
	}},
	{"a question waits for its answer", func(t *testing.T, c *Container) {
		approver(t, c.Host)
		waitUntilAsked(t, c.shims(), "hostexec", "uname", "-s")
		call := c.Start(t, "hostexec", "uname")
		q := pending(t, c.Host, "uname", 1)[0]
		c.Host.Must(t, "hostexec", "approve", q.ID)
		want(t, "what it says", call.Wait(t).Out, "Linux\n")
	}},
	{"the caller is told that it waits", func(t *testing.T, c *Container) {
		approver(t, c.Host)
		waitUntilAsked(t, c, "hostexec", "uname", "-s")
		call := c.Start(t, "hostexec", "uname")
		q := pending(t, c.Host, "uname", 1)[0]
		c.Host.Must(t, "hostexec", "approve", q.ID)
		if r := call.Wait(t); !strings.Contains(r.Err, "waiting for approval (request "+q.ID) {
			t.Errorf("the caller was told %q", r.Err)
		}
	}},
	{"a question ends with its caller", func(t *testing.T, c *Container) {
		approver(t, c.Host)
		waitUntilAsked(t, c.shims(), "hostexec", "uname", "-s")
		call := c.Start(t, "hostexec", "uname")
		pending(t, c.Host, "uname", 1)
		call.Signal(t, "TERM")
		pending(t, c.Host, "uname", 0)
		call.Ended(t)
	}},
	{"jobs: -d, ps, logs, wait, kill", func(t *testing.T, c *Container) {
		want(t, "a job", c.Sh(t, `id=$(hostexec -d hsh -c 'echo job; exec sleep 1000' | (read id _; echo $id)); until hostexec logs $id | grep -q job; do :; done; hostexec ps | grep -c running; hostexec kill $id >/dev/null; hostexec wait $id 2>/dev/null; echo $?`).Out, "1\n143\n")
	}},
	{"the audit log has the call", func(t *testing.T, c *Container) {
		mark := "audited" + strconv.FormatInt(time.Now().UnixNano(), 36)
		want(t, "code", c.Exec(t, "hsh", "-c", "exit 6", mark).Code, 6)
		want(t, "START", len(c.Host.Audit(t, " START ", mark)), 1)
		eventually(t, patience, "COMPLETE", func() bool { return len(c.Host.Audit(t, " COMPLETE ", "exit=6")) > 0 })
	}},
	{"a killed watcher ends the call, with an error", func(t *testing.T, c *Container) {
		call, p := treeOfShell(t, c)
		c.Host.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
		p.Ends(t, patience)
		r := call.Ended(t)
		want(t, "code", r.Code, 125)
		c.Host.Must(t, "hostexec", "resume", c.Session)
		want(t, "after resume", c.Exec(t, "hsh", "-c", "echo again").Out, "again\n")
	}},
}

// script is a bash script of the container and its output. Without an output, the two lines that it
// writes must be equal.
func script(text, out string) func(*testing.T, *Container) {
	return func(t *testing.T, c *Container) {
		r := c.Sh(t, text)
		if a, b, _ := strings.Cut(strings.TrimSpace(r.Out), "\n"); out == "" && a == b && a != "" {
			return
		}
		want(t, text, r.Out, out)
	}
}

// toldByFile is a call that keeps running, whose process on the host is found by a file, because
// its output may arrive only at its end.
func toldByFile(t testing.TB, c *Container) (*Call, *Proc) {
	t.Helper()
	const name = "number"
	file := filepath.Join(c.Host.Work, name)
	call := c.Start(t, "hsh", "-c", `echo $$ >$1.new; mv $1.new $1; exec sleep 1000`, "hsh", name)
	eventually(t, patience, "the command runs", func() bool { return exists(file) })
	p := hold(t, atoi(t, string(readFile(t, file))))
	check(t, os.Remove(file))
	return call, p
}

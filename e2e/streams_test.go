// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripts are what a person types into a shell in the container; each does with the
// host's programs (hsh is its sh, hcat its cat ...) what it would with local ones.
var scripts = []struct {
	name, script string
	out, err     string
	code         int
	unlike       string // why a local process does otherwise
	passed       bool   // only where descriptors are: docs/carriers.md
}{
	{name: "stdout and stderr are separate",
		script: `hsh -c 'echo to out; echo to err >&2'`, out: "to out\n", err: "to err\n"},
	{name: "2>&1 keeps the order",
		script: `hsh -c 'i=0; while [ $i -lt 500 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done' 2>&1`, out: numbers(500)},
	{name: "2>&1 into a file keeps the order",
		script: `hsh -c 'i=0; while [ $i -lt 500 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done' >/tmp/$$ 2>&1; cat /tmp/$$; rm /tmp/$$`, out: numbers(500)},
	{name: "two files for stdout and stderr",
		script: `hsh -c 'echo a; echo b >&2; echo c' >/tmp/$$.o 2>/tmp/$$.e; cat /tmp/$$.e /tmp/$$.o; rm /tmp/$$.?`, out: "b\na\nc\n"},
	{name: "append to a file",
		script: `echo one >/tmp/$$; hsh -c 'echo two; echo three' >>/tmp/$$; cat /tmp/$$; rm /tmp/$$`, out: "one\ntwo\nthree\n"},
	{name: "a shell's output in one file with the host's",
		script: `{ echo 1; hsh -c 'echo 2'; echo 3; hsh -c 'echo 4'; } >/tmp/$$; cat /tmp/$$; rm /tmp/$$`, out: "1\n2\n3\n4\n"},
	{name: "tee opens /dev/stdout on the host",
		script: `echo twice | htee /dev/stdout | cat`, out: "twice\ntwice\n"},
	{name: "stdin from a pipe", script: `seq 1 3 | hcat`, out: "1\n2\n3\n"},
	{name: "stdin from a file", script: `seq 1 3 >/tmp/$$; hcat </tmp/$$; rm /tmp/$$`, out: "1\n2\n3\n"},
	{name: "stdin from a here document", script: "hcat <<END\nhere\nEND", out: "here\n"},
	{name: "stdin from /dev/null", script: `hcat </dev/null; echo $?`, out: "0\n"},
	{name: "half-closed stdin: an answer after its end",
		script: `echo in | hsh -c 'cat; echo after the end'`, out: "in\nafter the end\n"},
	{name: "a loop that reads a pipe runs for each line", passed: true,
		script: `seq 1 3 | while read n; do hsh -c 'echo line $1' x $n; done`, out: "line 1\nline 2\nline 3\n"},
	{name: "a loop that reads a file runs for each line",
		script: `seq 1 3 >/tmp/$$; while read n; do hsh -c 'echo line $1' x $n; done </tmp/$$; rm /tmp/$$`, out: "line 1\nline 2\nline 3\n"},
	{name: "what a command left of a file the next one reads",
		script: `seq 1 3 >/tmp/$$; { hsh -c 'read a; echo $a'; cat; } </tmp/$$; rm /tmp/$$`, out: "1\n2\n3\n"},
	{name: "what a command left of a pipe the next one reads", passed: true,
		script: `seq 1 3 | { hsh -c 'read a; echo $a'; cat; }`, out: "1\n2\n3\n"},
	{name: "head ends a command that never stops writing",
		script: `hsh -c 'while :; do echo y; done' | head -1; echo ${PIPESTATUS[0]}`, out: "y\n141\n"},
	{name: "a command that stops reading ends one that never stops writing",
		script: `yes 2>/dev/null | hsh -c 'read a; echo $a'; echo ${PIPESTATUS[*]}`, out: "y\n141 0\n"},
	{name: "closed stdin is empty", script: `hcat <&-; echo $?`, out: "0\n",
		unlike: "what is closed in the container is /dev/null on the host: nothing may take its number there"},
	{name: "closed stdout harms nobody", script: `hsh -c 'echo lost; exit 7' >&-; echo $?`, out: "7\n"},
	{name: "closed stderr harms nobody", script: `hsh -c 'echo lost >&2; echo kept; exit 7' 2>&-; echo $?`, out: "kept\n7\n"},
	{name: "all three closed", script: `hsh -c 'exit 7' <&- >&- 2>&-; echo $?`, out: "7\n"},
	{name: "stdout to /dev/null", script: `hsh -c 'echo lost; echo kept >&2' >/dev/null`, err: "kept\n"},
	{name: "a full disk is told", script: `hsh -c 'echo lost' >/dev/full 2>/tmp/$$ || { [ -s /tmp/$$ ] && echo failed, and said so; }; rm /tmp/$$`, out: "failed, and said so\n"},
	{name: "into a named pipe",
		script: `mkfifo /tmp/$$; cat /tmp/$$ & hsh -c 'echo through' >/tmp/$$; wait; rm /tmp/$$`, out: "through\n"},
	{name: "process substitution", script: `hcat <(echo sub) 2>/dev/null || echo a name of the container means nothing there; hcat < <(echo sub)`,
		out: "a name of the container means nothing there\nsub\n", unlike: "names of the container's /dev/fd are not the host's"},
	{name: "a pipeline of three", script: `hsh -c 'seq 1 1000' | hcat | hsh -c 'wc -l'`, out: "1000\n"},
	{name: "a command in the background", script: `hsh -c 'echo bg; exit 3' & wait $!; echo $?`, out: "bg\n3\n"},
	{name: "command substitution", script: `a=$(hsh -c 'echo out; exit 5'); echo "$a $?"`, out: "out 5\n"},
}

// TestIntegrationScriptsLocally runs the scripts with local programs, without hostexec. Their
// behaviour is the expectation of the next test.
func TestIntegrationScriptsLocally(t *testing.T) {
	h := newHost(t, false)
	id := strings.TrimSpace(h.Must(t, "run", "-d", "--label", runLabel, "-e", "PATH="+local+":/bin", image(t, "full"), "/probe", "hold"))
	c := &Container{Host: h, ID: id, User: "0"}
	for _, tt := range scripts {
		if tt.unlike != "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			if r := c.Sh(t, tt.script); r.Out != tt.out || r.Code != tt.code || !strings.HasSuffix(r.Err, tt.err) {
				t.Errorf("%s\ngot  %v\nwant %v", tt.script, r, Result{tt.out, tt.err, tt.code})
			}
		})
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestIntegrationScriptsOfAShell(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		for _, tt := range scripts {
			if tt.passed && c.Carrier != "socket" {
				continue
			}
			t.Run(tt.name, func(t *testing.T) {
				r := c.Sh(t, tt.script)
				if r.Out != tt.out || r.Code != tt.code || !strings.HasSuffix(r.Err, tt.err) || tt.err == "" && strings.Contains(r.Err, "hostexec:") {
					t.Errorf("%s\ngot  %v\nwant %v", tt.script, r, Result{tt.out, tt.err, tt.code})
				}
			})
		}
	})
}

// TestIntegrationEveryByte sends all byte values both ways, through pipes and files.
func TestIntegrationEveryByte(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	data := string(bytes.Repeat(all, 1000))
	forEachUser(t, func(t *testing.T, c *Container) {
		if r := c.Feed(t, data, "hcat"); r.Out != data || r.Code != 0 {
			t.Errorf("through pipes: %v", r)
		}
		if r := c.Feed(t, data, "bash", "-c", `cat >/tmp/$$; hcat </tmp/$$ >/tmp/$$.out; cat /tmp/$$.out; rm /tmp/$$ /tmp/$$.out`); r.Out != data || r.Code != 0 {
			t.Errorf("through files: %v", r)
		}
	})
}

// TestIntegrationStreaming checks that each line arrives as soon as it is written, in both
// directions, through the caller's own pipe and where the shim copies (a named pipe).
func TestIntegrationStreaming(t *testing.T) {
	const echo = `while read l; do echo got $l; done; echo end`
	for _, script := range []string{
		`exec hsh -c "$1"`,
		`mkfifo /tmp/$$.in /tmp/$$.out; cat <&0 >/tmp/$$.in & cat /tmp/$$.out & hsh -c "$1" </tmp/$$.in >/tmp/$$.out; wait; rm /tmp/$$.*`,
	} {
		forEachUser(t, func(t *testing.T, c *Container) {
			call := c.Start(t, "bash", "-c", script, "bash", echo)
			for _, line := range []string{"one", "two", "three"} {
				_, err := fmt.Fprintln(call.In, line)
				check(t, err)
				want(t, "answer", call.Line(t), "got "+line)
			}
			want(t, "the rest", call.Wait(t).Out, "end\n")
		})
	}
}

// TestIntegrationIdleStdin calls a command that reads nothing, with a stdin that never has data and
// never ends, as agents and CI runners leave open.
func TestIntegrationIdleStdin(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		start := time.Now()
		want(t, "stdout", c.Exec(t, "/probe", "idle", "htrue").Out, "ended 0\n")
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestIntegrationOwnPipe checks that the command's descriptors are the caller's own, so
// that bytes pass at the speed of a local pipe.
func TestIntegrationOwnPipe(t *testing.T) {
	bySocket(t, func(t *testing.T, c *Container) {
		for _, kind := range []string{"pipe", "socket"} {
			r := c.Exec(t, "/probe", "inodes", kind, "hp", "fds")
			want(t, kind+": 0, 1, 2 are the caller's", r.Out+r.Err, "true true true\n")
		}
	})
}

// TestIntegrationGiB passes 1 GiB through a pipe, each byte of which is known.
func TestIntegrationGiB(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		r := c.Long(t, `hp gen 1073741824 | /probe count; echo ${PIPESTATUS[*]}`)
		want(t, "out", r.Out+r.Err, "1073741824\n0 0\n")
	})
}

// TestIntegrationBulk passes 64 MiB each way where the shim copies, and into the host
// through a pipe.
func TestIntegrationBulk(t *testing.T) {
	const n = "67108864"
	forEachUser(t, func(t *testing.T, c *Container) {
		for what, script := range map[string]string{
			"into the host":   `/probe gen ` + n + ` | hp count`,
			"to a file":       `hp gen ` + n + ` >/tmp/$$; /probe count </tmp/$$; rm /tmp/$$`,
			"from a file":     `/probe gen ` + n + ` >/tmp/$$; hp count </tmp/$$; rm /tmp/$$`,
			"file to file":    `/probe gen ` + n + ` >/tmp/$$; hcat </tmp/$$ >/tmp/$$.out; /probe count </tmp/$$.out; rm /tmp/$$ /tmp/$$.out`,
			"to a named pipe": `mkfifo /tmp/$$; /probe count </tmp/$$ & hp gen ` + n + ` >/tmp/$$; wait; rm /tmp/$$`,
		} {
			r := c.Long(t, script)
			want(t, what, r.Out+r.Err, n+"\n")
		}
	})
}

// TestIntegrationWorkdirFile redirects output to a file in a mounted directory. The host must see the command's
// bytes there.
func TestIntegrationWorkdirFile(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		c.Sh(t, `rm -f out; hsh -c 'echo seen by both' >out`)
		got, err := os.ReadFile(filepath.Join(c.Host.Work, "out"))
		check(t, err)
		want(t, "the file on the host", string(got), "seen by both\n")
	})
}

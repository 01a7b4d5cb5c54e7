// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestIntegrationTerminal asks the host's programs about the terminal they are in.
func TestIntegrationTerminal(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Shell(t)
		if got := m.Do(t, "htty"); !strings.HasPrefix(got, "/dev/pts/") {
			t.Errorf("tty prints %q", got)
		}
		want(t, "stty size", m.Do(t, "hstty size"), "24 80\r\n")
		m.Resize(t, 50, 132)
		m.Type(t, "bash -c '"+sized+"echo re\"\"sized' 50 132\r")
		m.Expect(t, "\r\nresized\r\n") // not what was typed: until then docker is told again
		m.Expect(t, "ready> ")
		want(t, "stty size", m.Do(t, "hstty size"), "50 132\r\n")
		want(t, "the three", m.Do(t, "hsh -c 'echo $TERM; test -t 0 && test -t 1 && test -t 2 && echo all; exit 9'; echo $?"), "xterm\r\nall\r\n9\r\n")
		want(t, "/dev/tty", m.Do(t, "hsh -c 'echo to the terminal >/dev/tty'"), "to the terminal\r\n")
		m.Exit(t)
	})
}

// TestIntegrationPassword types a password, which is not shown.
//
// Attack 102.
func TestIntegrationPassword(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Shell(t)
		m.Type(t, `hsh -c 'stty -echo; printf "Password: "; read p; stty echo; echo; echo "got=$p="'`+"\r")
		m.Expect(t, "\r\nPassword: ")
		m.Type(t, "s3cret\r")
		want(t, "shown until the prompt", m.Expect(t, "ready> "), "\r\ngot=s3cret=\r\nready> ")
		want(t, "the shell's terminal", m.Do(t, "echo sane"), "sane\r\n")
		m.Exit(t)
	})
}

// TestIntegrationEditor writes a file of the host's with vi.
func TestIntegrationEditor(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		name := "note." + c.User
		file := filepath.Join(c.Host.Work, name)
		os.Remove(file) // an earlier run's, if there was one
		m := c.Shell(t)
		m.Type(t, "vi "+name+"\r")
		m.Expect(t, "vi "+name+"\r\n")
		m.Expect(t, name) // in its last line
		m.Type(t, "ihello from vi\x1b:wq\r")
		m.Expect(t, "ready> ")
		got, err := os.ReadFile(file)
		check(t, err)
		want(t, "what vi wrote", string(got), "hello from vi\n")
		want(t, "the shell's terminal", m.Do(t, "echo sane"), "sane\r\n")
		m.Exit(t)
	})
}

// TestIntegrationPager pages on the host, and in the container behind a command of the
// host's: there the pager keeps the terminal.
func TestIntegrationPager(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		c.Host.Write(t, c.Host.Work, "lines", numbers(500), 0o644)
		for _, line := range []string{"hless lines", "hcat lines | less", "hsh -c 'seq 0 499' | less"} {
			m := c.Shell(t)
			m.Type(t, line+"\r")
			m.Expect(t, "21\r\n22\r\n")
			if c.Carrier != "socket" && strings.Contains(line, "|") { // as long as it runs its stdin is read ahead
				call, _, _ := strings.Cut(line, " ")
				eventually(t, patience, "the call has ended", func() bool { return !strings.Contains(c.Host.Must(t, "top", c.ID, "-o", "pid,args"), call+" ") })
			}
			m.Type(t, " ")
			m.Expect(t, "40\r\n41\r\n")
			m.Type(t, "G")
			m.Expect(t, "498\r\n499\r\n")
			m.Type(t, "q")
			m.Expect(t, "ready> ")
			want(t, line+": the shell's terminal", m.Do(t, "echo sane"), "sane\r\n")
			m.Exit(t)
		}
	})
}

// TestIntegrationTerminalAndPipe uses a terminal on one side of the call only.
func TestIntegrationTerminalAndPipe(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Shell(t)
		want(t, "a pipe before", m.Do(t, "echo piped | hsh -c 'cat; echo to the screen'"), "piped\r\nto the screen\r\n")
		m.Type(t, "hsh -c 'echo reading; read a; echo got $a' | cat\r")
		m.Expect(t, "\r\nreading\r\n")
		want(t, "a pipe behind", m.Do(t, "typed"), "got typed\r\n")
		want(t, "a pipe behind, stderr shown", m.Do(t, "a=$(hsh -c 'echo to stderr >&2; echo to stdout'); echo \"a=$a\""), "to stderr\r\na=to stdout\r\n")
		m.Exit(t)
	})
}

// TestIntegrationTerminalBulk writes many lines through the terminal. All arrive, although the
// command has ended before they are shown.
func TestIntegrationTerminalBulk(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Term(t, "hsh", "-c", "seq 1 20000")
		want(t, "code", m.Wait(t), 0)
		lines := strings.Split(strings.TrimSpace(m.seen), "\r\n")
		want(t, "lines", len(lines), 20000)
		want(t, "the last", lines[len(lines)-1], "20000")
	})
}

// TestIntegrationTerminalOnRun runs a host command with `run -it`: the shim is the container's first process,
// and has the terminal.
func TestIntegrationTerminalOnRun(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			setuid := h.Write(t, h.Home, "setuid", "#!/bin/sh\n", 0o755)
			check(t, os.Chmod(setuid, 0o755|os.ModeSetuid))
			argv := append([]string{"docker"}, h.runArgs("--rm", "-it", "--read-only", "-w", "/tmp", "--proxy", "hsh=/bin/sh", "--proxy", "priv="+setuid,
				image(t, "full"), "hsh", "-c", "echo begin; read x; echo got $x; exit 4")...)
			m := h.term(t, argv...)
			// The banner is aligned on a terminal that is raw already, each of its lines.
			m.Expect(t, "hostexec: warning: login shells find at most the container's own hsh, priv (it is read-only): call /run/hostexec/bin/hostexec NAME\r")
			m.Expect(t, "hostexec: warning: priv ("+setuid+") is setuid and may not gain privileges: add --allow-new-privs if it has to\r\nhostexec: session ")
			m.Expect(t, "hostexec: commands run in "+h.Work+", and only if the container calls them in /tmp: --workdir-host DIR allows all directories\r\n")
			m.Expect(t, "begin\r\n")
			m.Type(t, "a word\r")
			m.Expect(t, "got a word\r\n")
			want(t, "code", m.Wait(t), 4)
		})
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	check(t, err)
	return n
}

// TestIntegrationResize resizes the terminal while a command runs. The command is notified.
func TestIntegrationResize(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		m := c.Term(t, "hp", "sizes")
		m.Expect(t, "24 80\r\n")
		m.Resize(t, 40, 100)
		m.Expect(t, "40 100\r\n")
		m.Resize(t, 30, 90)
		m.Expect(t, "30 90\r\n")
		m.Type(t, "\r")
		want(t, "code", m.Wait(t), 0)
	})
}

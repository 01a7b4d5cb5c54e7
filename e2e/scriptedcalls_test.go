// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// scriptedCalls is a container that makes a call for each line it is sent, so that one can be
// made without docker exec. What it says comes back by a named pipe.
type scriptedCalls struct {
	c       *Container
	out, in *os.File
	lines   *bufio.Reader
}

// scriptedCallsScript is what the container does. The host's commands write to its stdout. By a relay
// they would read the words ahead.
const scriptedCallsScript = `while read -r word; do
  case $word in
  long) { hsh -c 'echo $$; exec sleep 1000'; echo "code $?"; } 2>/dev/null & ;;
  *) hsh -c 'echo "called $1"' hsh "$word" </dev/null || echo "code $?" ;;
  esac
done <in >out 2>&1`

// newScriptedCalls has docker hostexec run make one, with more flags.
func newScriptedCalls(t *testing.T, h *Host, flags ...string) *scriptedCalls {
	t.Helper()
	m, args := openScriptedCalls(t, h)
	m.c = h.Detached(t, append(append([]string{"--proxy", "hsh=/bin/sh"}, flags...), args...)...)
	return m
}

// newAttached attaches one that docker run has made, with more flags.
func newAttached(t *testing.T, h *Host, flags ...string) *scriptedCalls {
	t.Helper()
	m, args := openScriptedCalls(t, h)
	id := strings.TrimSpace(h.Must(t, append(append([]string{"run", "-d", "--label", runLabel}, flags...), args...)...))
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", id) })
	m.c = &Container{Host: h, ID: id, User: "0"}
	m.c.Session = strings.TrimSpace(h.Must(t, "hostexec", "attach", "--detach", "--proxy", "hsh=/bin/sh", id))
	return m
}

// openScriptedCalls makes the pipes, and returns the flags of a container with them.
func openScriptedCalls(t *testing.T, h *Host) (m *scriptedCalls, args []string) {
	t.Helper()
	dir := filepath.Join(h.Work, unique("mail-"+strconv.FormatInt(scriptedCallers.Add(1), 10)))
	h.mkdir(t, dir)
	open := func(name string) *os.File {
		path := filepath.Join(dir, name)
		check(t, unix.Mkfifo(path, 0o666))
		check(t, os.Chmod(path, 0o666))
		// Both ways, so that it is there, and stays open, whoever else has it.
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
		check(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	m = &scriptedCalls{out: open("in"), in: open("out")}
	m.lines = bufio.NewReader(m.in)
	return m, []string{"--network", "none", "-v", dir + ":/w", "-w", "/w", engineRef, "sh", "-c", scriptedCallsScript}
}

var scriptedCallers atomic.Int64

// ask sends a word and returns the line that comes back.
func (m *scriptedCalls) ask(t *testing.T, word string) string {
	t.Helper()
	_, err := fmt.Fprintln(m.out, word)
	check(t, err)
	return m.line(t, word)
}

// line returns the next line that comes, for which it waits because of what.
func (m *scriptedCalls) line(t *testing.T, what string) string {
	t.Helper()
	check(t, m.in.SetReadDeadline(time.Now().Add(patience)))
	line, err := m.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: no answer: %v", what, err)
	}
	return strings.TrimSpace(line)
}

// call makes a call that has to be answered.
func (m *scriptedCalls) call(t *testing.T, when string) {
	t.Helper()
	want(t, "a call "+when, m.ask(t, when), "called "+when)
}

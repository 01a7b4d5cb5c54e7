// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// What cannot be written down does not happen.
//
// Attack 133.
func TestUnwritableAudit(t *testing.T) {
	s, log := calltest.NewServer(t)
	err := errors.Join(os.Rename(log, log+".away"), os.Symlink(log+".away", log)) // which is not written through
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "ran")
	c := calltest.Dial(t, s)
	c.Exec(t, wire.FDNull, "sh", "-c", "touch "+marker)
	c.Read(t, wire.KindExit)
	if c.Exit.Code != 125 || c.Started || !strings.Contains(c.Exit.Text, "the audit log cannot be written") {
		t.Errorf("exit = %+v, started %t", c.Exit, c.Started)
	}
	if _, err := os.Stat(marker); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it ran: %v", err)
	}
}

// A call that is allowed is recorded three times, and one that is not once.
func TestAuditKinds(t *testing.T) {
	s, log := calltest.NewServer(t)
	for _, args := range [][]string{{"sh", "-c", "exit 3"}, {"rm", "x"}, {"nope"}, {"lost"}} {
		c := calltest.Dial(t, s)
		c.Exec(t, wire.FDNull, args...)
		c.Read(t, wire.KindExit)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(b)) {
		e, err := audit.Parse(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, string(e.Kind)+" "+e.Command)
	}
	want := []string{
		"AUTO_APPROVE sh -c 'exit 3'", "START sh -c 'exit 3'", "COMPLETE sh -c 'exit 3'", "DENY rm x", "DENY nope",
		"AUTO_APPROVE lost", "START lost", "COMPLETE lost",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("recorded is %q, want %q", got, want)
	}
}

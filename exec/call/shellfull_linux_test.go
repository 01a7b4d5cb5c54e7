// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call/calltest"
	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

// TestFullDiskOfShell checks that caller and log get the directory of a disk that is full during a text. The container
// and the host run texts. A text whose output is complete causes no message.
func TestFullDiskOfShell(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	s := calltest.NewShellServer(t, calltest.ShellPolicy(policy.Allow))
	var log bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	if err := os.Mkdir(s.Shells.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	dirtest.Mount(t, "none", s.Shells.Dir, "tmpfs", 0, "size=1m")
	t.Cleanup(func() { s.Shells.Close() }) // before the disk goes
	if err := s.CreateShell("one", shell.Options{}); err != nil {
		t.Fatal(err)
	}
	runners := map[string]func(text string) string{
		"container": func(text string) string {
			return calltest.HostexecSession(t, s, "exec", "one", "--", text).Exit.Text
		},
		"host": func(text string) string {
			var out, err bytes.Buffer
			if _, e := s.RunShell(t.Context(), "me", "one", shell.Command{Text: text}, shell.Output{Out: &out, Err: &err}); e != nil {
				t.Error(e)
			}
			return err.String()
		},
	}
	for name, run := range runners {
		for text, lost := range map[string]bool{"head -c 3000000 /dev/zero 2>/dev/null; true": true, "echo all of it": false} {
			log.Reset()
			message := run(text)
			for receiver, got := range map[string]string{"caller": message, "log": log.String()} {
				if strings.Contains(got, "output may be missing") != lost || strings.Contains(got, s.Shells.Dir) != lost {
					t.Errorf("%s, %q: the %s has %q, want a directory: %v", name, text, receiver, got, lost)
				}
			}
		}
	}
}

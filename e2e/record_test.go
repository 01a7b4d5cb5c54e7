// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recordDamages are what may be found in the place of a session's record.
var recordDamages = map[string]func(path string) error{
	"an empty file":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	"no record":       func(path string) error { return os.WriteFile(path, []byte("{not json"), 0o600) },
	"a huge file":     func(path string) error { return os.Truncate(path, 1<<40) },
	"nothing":         func(path string) error { return os.Remove(path) },
	"a pipe":          func(path string) error { return errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)) },
	"a directory":     func(path string) error { return errors.Join(os.RemoveAll(path), os.MkdirAll(path+"/in", 0o700)) },
	"an endless link": func(path string) error { return errors.Join(os.RemoveAll(path), os.Symlink("/dev/zero", path)) },
}

// TestIntegrationRecordDamaged damages a session's record, with its spare one and without: status
// and stop know the session as before, and have the record rewritten.
func TestIntegrationRecordDamaged(t *testing.T) {
	for _, h := range anyUser(t) {
		c := h.Holding(t, "--network", "none", "--proxy", "hsh=/bin/sh")
		record := filepath.Join(h.State, "sessions", c.Session, "session.json")
		for name, damage := range recordDamages {
			for what, files := range map[string][]string{
				"": {record}, " twice": {record, strings.TrimSuffix(record, ".json") + ".spare.json"},
			} {
				t.Run(name+what, func(t *testing.T) {
					for _, f := range files {
						check(t, damage(f))
					}
					want(t, "status", h.status(t, c, "{{.Container}} {{.State}} {{.Commands}}"), c.name(t)+" running hsh")
					fi, err := os.Lstat(record)
					check(t, err)
					want(t, "the record is a file", fi.Mode().IsRegular() && fi.Size() < 1<<16, true)
				})
			}
		}
		h.Must(t, "hostexec", "stop", c.name(t))
		want(t, "after stop", h.status(t, c, "{{.State}}"), "stopped")
		check(t, os.Truncate(record, 0))
		h.Must(t, "hostexec", "resume", c.name(t))
		want(t, "a call", c.Exec(t, "hsh", "-c", "echo back").Out, "back\n")
		rebuiltSession(t, h, c, record)
		asides, err := filepath.Glob(filepath.Join(filepath.Dir(record), "session.damaged*"))
		check(t, err)
		for _, aside := range asides { // some are root's: the person could not prune them
			check(t, os.RemoveAll(aside))
		}
	}
}

// rebuiltSession damages both records of a session that nobody serves: its container still tells of it.
func rebuiltSession(t *testing.T, h *Host, c *Container, record string) {
	t.Helper()
	h.Must(t, "hostexec", "stop", c.Session)
	for _, f := range []string{record, strings.TrimSuffix(record, ".json") + ".spare.json"} {
		check(t, os.Remove(f))
	}
	old := time.Now().Add(-time.Hour)
	check(t, os.Chtimes(filepath.Dir(record), old, old))
	want(t, "status", h.status(t, c, "{{.Container}} {{.State}} {{.Commands}}"), c.name(t)+" stopped hsh=unknown")
	if pruned := h.Must(t, "hostexec", "prune", "-f"); strings.Contains(pruned, c.Session) { // and no matter what of other tests'
		t.Errorf("prune removes a session whose container is there: %s", pruned)
	}
	want(t, "stop", h.Must(t, "hostexec", "stop", c.name(t)), c.name(t)+"\n")
	r := h.Docker(t, "hostexec", "resume", c.name(t))
	if r.Code != 1 || !strings.Contains(r.Err, "the record of session "+c.Session+" is damaged") || !strings.Contains(r.Err, "docker rm -f "+c.name(t)) {
		t.Errorf("resume says %q, code %d", r.Err, r.Code)
	}
}

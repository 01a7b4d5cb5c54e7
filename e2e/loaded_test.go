// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// loaded is a container whose program is a load.
type loaded struct {
	*Container
	name  string
	out   string     // the file to which the load writes
	calls []loadCall // known after ended
}

// loadCall is what the load in a container prints about a call.
type loadCall struct {
	Token, Kind     string
	Timeout, Took   float64 // seconds
	Start           time.Time
	Code, Bytes     int
	Expected        bool // the code is that of an undisturbed call
	Problem, Stderr string
}

func (c loadCall) end() time.Time { return c.Start.Add(time.Duration(c.Took * float64(time.Second))) }

// loaded starts a container with a load. args follow the file for evidence.
func (h *Host) loaded(t *testing.T, name, image string, flags []string, args ...string) *loaded {
	t.Helper()
	l := &loaded{name: name, out: filepath.Join(h.Work, strings.ReplaceAll(name, " ", "-")+".jsonl")}
	all := append([]string{"-v", h.Work + ":" + h.Work, "-w", h.Work}, flags...)
	all = append(all, image, "/probe", "load", l.out, h.stopFile(), h.evidenceFile())
	l.Container = h.Detached(t, append(all, args...)...)
	return l
}

// stopFile is the file that ends all loads of a person, and evidenceFile the one in which the commands of loads leave
// evidence: REQUEST TOKEN in each line.
func (h *Host) stopFile() string     { return filepath.Join(h.Work, "stop") }
func (h *Host) evidenceFile() string { return filepath.Join(h.Work, "evidence") }

// prepareLoads makes the file for evidence.
func (h *Host) prepareLoads(t *testing.T) {
	t.Helper()
	check(t, os.WriteFile(h.evidenceFile(), nil, 0o666))
	check(t, os.Chmod(h.evidenceFile(), 0o666))
}

// endLoads ends the loads, and reads what they have written.
func (h *Host) endLoads(t *testing.T, loads []*loaded) {
	t.Helper()
	check(t, os.WriteFile(h.stopFile(), nil, 0o644))
	for _, l := range loads {
		var text string
		eventually(t, patience, l.name+": the load has ended", func() bool {
			text = string(readFile(t, l.out))
			return strings.HasSuffix(text, "ended\n")
		})
		for line := range strings.Lines(strings.TrimSuffix(text, "ended\n")) {
			var c loadCall
			check(t, json.Unmarshal([]byte(line), &c))
			l.calls = append(l.calls, c)
		}
	}
}

// appendReport adds a line to the file HOSTEXEC_REPORTS, if the test has succeeded.
func appendReport(t *testing.T, r any) {
	t.Helper()
	text, err := json.Marshal(r)
	check(t, err)
	t.Logf("%s", text)
	if file := os.Getenv("HOSTEXEC_REPORTS"); file != "" && !t.Failed() {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		check(t, err)
		_, err = f.Write(append(text, '\n'))
		check(t, err)
		check(t, f.Close())
	}
}

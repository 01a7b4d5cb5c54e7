// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// diagnosis is one line of docker hostexec doctor --format json.
type diagnosis struct{ Probe, Status, Found, Means, Fix string }

// doctor runs docker hostexec doctor and returns what each probe found. Exit status and
// findings have to agree.
func (h *Host) doctor(t testing.TB, args ...string) map[string]diagnosis {
	t.Helper()
	r := h.Docker(t, append([]string{"hostexec", "doctor", "--format", "json"}, args...)...)
	all, fails := map[string]diagnosis{}, 0
	for line := range strings.Lines(r.Out) {
		var d diagnosis
		check(t, json.Unmarshal([]byte(line), &d))
		all[d.Probe] = d
		if d.Status == "fail" {
			fails++
		}
		if d.Found == "" || d.Means == "" || d.Status == "fail" && d.Fix == "" {
			t.Errorf("it does not say all: %s", line)
		}
	}
	for _, probe := range []string{"engine", "carrier", "events", "engine events", "sockets", "locks", "uid mapping", "architecture", "state directory", "configuration", "stale state"} {
		if _, ok := all[probe]; !ok {
			t.Fatalf("nothing is said of %s: %v", probe, r)
		}
	}
	if (r.Code == 0) != (fails == 0) || r.Code > 1 {
		t.Errorf("code %d with %d failures: %s", r.Code, fails, r.Err)
	}
	return all
}

// TestIntegrationDoctor breaks each prerequisite of sessions in turn, and checks that doctor finds
// it. Everything that it does not report must be in order.
func TestIntegrationDoctor(t *testing.T) {
	t.Parallel() // most of it is waiting
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, h *Host)
		want map[string]string // "probe status": what is said of it, words that | separates
	}{
		{"nothing", func(*testing.T, *Host) {}, map[string]string{
			"engine ok": "API 1.|at unix://|as root", "carrier ok": "not known yet", "architecture ok": "shims for", "configuration ok": "there is none"}},
		{"no state yet", func(t *testing.T, h *Host) { check(t, os.Remove(h.State)) }, map[string]string{"state directory ok": "does not exist yet"}},
		{"no engine", func(t *testing.T, h *Host) { h.Env = append(h.Env, "DOCKER_HOST=unix://"+h.Home+"/none") }, map[string]string{
			"engine fail": "/none|systemctl start docker", "architecture warn": "not known", "uid mapping warn": "not known", "engine events warn": "not known"}},
		{"no context", func(t *testing.T, h *Host) { h.Env = append(h.Env, "DOCKER_CONTEXT=none") }, map[string]string{
			"engine fail": `context "none"|docker context ls`, "architecture warn": "", "uid mapping warn": "", "engine events warn": ""}},
		{"an engine of others", func(t *testing.T, h *Host) { silentEngine(t, h, 0) }, map[string]string{
			"engine fail": "permission denied|usermod -aG docker", "architecture warn": "", "uid mapping warn": "", "engine events warn": ""}},
		{"an engine that hangs", func(t *testing.T, h *Host) { silentEngine(t, h, 0o666) }, map[string]string{
			"engine fail": "does not answer within 10s", "architecture warn": "", "uid mapping warn": "", "engine events warn": ""}},
		{"another engine", func(t *testing.T, h *Host) {
			h.Write(t, h.State, "engines.json", `{"unix:///var/run/docker.sock": {"id": "X", "carrier": "socket"}}`, 0o600)
		}, map[string]string{"carrier warn": "another engine at the same address"}},
		{"a broken file", func(t *testing.T, h *Host) {
			h.Write(t, h.State, "config.yaml", "approval: {}\nbogus: 1\n", 0o600)
			h.mkdir(t, filepath.Join(h.State, "projects"))
			h.Write(t, filepath.Join(h.State, "projects"), "other.yaml", "commands: [\n", 0o600)
		}, map[string]string{"configuration fail": `config.yaml:2: unknown key bogus|projects/other.yaml:|denies every request|policy check`}},
		{"a file for all", func(t *testing.T, h *Host) { h.Write(t, h.State, "config.yaml", "approval: {}\n", 0o666) },
			map[string]string{"configuration fail": "config.yaml: may be written by others: chmod go-w /"}},
		{"a state for all", func(t *testing.T, h *Host) { check(t, os.Chmod(h.State, 0o777)) }, map[string]string{"state directory fail": "may be written by others: chmod 700"}},
		{"a long path", func(t *testing.T, h *Host) {
			h.Env = append(h.Env, "HOSTEXEC_HOME="+h.State+"/"+strings.Repeat("x", 100))
		},
			map[string]string{"sockets warn": "of at most 107 bytes|a shorter path", "state directory ok": "does not exist yet"}},
		{"no place for it", func(t *testing.T, h *Host) { h.Env = append(h.Env, "HOSTEXEC_HOME=/proc/self/state") }, map[string]string{
			"events fail": "", "sockets fail": "", "locks fail": "", "state directory fail": "HOSTEXEC_HOME"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // some of it is waiting
			h := newHost(t, os.Getuid() == 0)
			tt.harm(t, h)
			before := listing(t, h.Home)
			got := h.doctor(t)
			want(t, "what it left", listing(t, h.Home), before)
			for _, d := range got {
				says, named := tt.want[d.Probe+" "+d.Status]
				if !named && d.Status != "ok" {
					t.Errorf("%+v", d)
				}
				for _, word := range strings.Split(says, "|") {
					if !strings.Contains(d.Found+"\n"+d.Means+"\n"+d.Fix, word) {
						t.Errorf("%+v lacks %q", d, word)
					}
				}
			}
			for key := range tt.want {
				probe, status := key[:strings.LastIndex(key, " ")], key[strings.LastIndex(key, " ")+1:]
				want(t, probe, got[probe].Status, status)
			}
		})
	}
}

// TestIntegrationDoctorInterrupted types ^C at a doctor that waits for an engine. It leaves nothing of its tests.
func TestIntegrationDoctorInterrupted(t *testing.T) {
	h := newHost(t, false)
	silentEngine(t, h, 0o666)
	before := listing(t, h.Home)
	m := h.term(t, "docker", "hostexec", "doctor")
	eventually(t, patience, "its tests begin", func() bool { return listing(t, h.Home) != before })
	m.Type(t, "\x03")
	want(t, "code", m.Wait(t), 130)
	want(t, "what it left", listing(t, h.Home), before)
}

// silentEngine has docker talk to a socket that takes every connection and never answers.
func silentEngine(t *testing.T, h *Host, mode fs.FileMode) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hostexec-e2e-") // a short path
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	check(t, err)
	t.Cleanup(func() { ln.Close() })
	check(t, os.Chmod(filepath.Join(dir, "s"), mode))
	h.Env = append(h.Env, "DOCKER_HOST=unix://"+dir+"/s")
}

// listing returns everything below dir: names, modes and the contents of files.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		if fi.Mode().IsRegular() {
			text = string(readFile(t, path))
		}
		fmt.Fprintf(&b, "%s %v %q\n", path, fi.Mode(), text)
		return nil
	}))
	return b.String()
}

// TestIntegrationDoctorStale leaves each kind of stale state behind, and runs the fixes that doctor
// prints until nothing is left.
func TestIntegrationDoctorStale(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, os.Getuid() == 0)
	calls := []string{"--network", "none", "--proxy", "hsh=/bin/sh"}
	lost, gone, stopped, stuck := h.Holding(t, calls...), h.Holding(t, calls...), h.Holding(t, calls...), h.Holding(t, calls...)
	want(t, "with all served", h.doctor(t)["stale state"].Status, "ok")
	for _, c := range []*Container{lost, gone} {
		w, k := h.Watcher(t, c.Session), h.Keeper(t, c.Session)
		w.Signal(t, syscall.SIGKILL)
		k.Ends(t, grace)
	}
	env := h.Env
	h.Env = append(slices.Clone(env), "DOCKER_HOST=unix://"+h.Home+"/none")
	want(t, "a session's engine is its own", h.status(t, lost, "{{.State}}"), "lost")
	h.Env = env
	h.Must(t, "rm", "-f", gone.ID)
	h.Must(t, "hostexec", "stop", stopped.Session)
	half := filepath.Join(h.State, "sessions", "0123456789ab")
	bare := filepath.Join(h.State, "sessions", "0123456789ac")
	h.mkdir(t, half)
	h.mkdir(t, bare)
	h.mkdir(t, filepath.Join(bare, "share"))
	h.Write(t, half, "session.json", "not a record", 0o600) // somebody may want to look at it
	old := time.Now().Add(-time.Hour)
	check(t, errors.Join(os.Chtimes(half, old, old), os.Chtimes(bare, old, old)))
	w := h.Watcher(t, stuck.Session)
	w.Signal(t, syscall.SIGSTOP)

	d := h.doctor(t)["stale state"]
	want(t, "status", d.Status, "warn")
	for _, text := range []string{
		"session " + lost.Session + " (" + lost.name(t) + ") is lost", "session " + gone.Session + " is of a container that was removed",
		half + " is not a session", bare + " is not a session", "session " + stuck.Session + " (" + stuck.name(t) + "): the watcher (process " + strconv.Itoa(w.PID) + ") was suspended by a signal",
	} {
		if !strings.Contains(d.Found, text) {
			t.Errorf("%q lacks %q", d.Found, text)
		}
	}
	want(t, "what a person has stopped is no fault", strings.Contains(d.Found, stopped.Session), false)
	w.Signal(t, syscall.SIGCONT)
	fixes := strings.Split(d.Fix, "; ")
	for _, fix := range []string{"docker hostexec resume --all", "docker hostexec prune", "rm -r " + half} {
		if !slices.Contains(fixes, fix) {
			t.Fatalf("fix %q is not among %q", fix, fixes)
		}
		if fix == "docker hostexec prune" {
			fix += " -f" // there is no terminal to ask on
		}
		words := strings.Fields(fix)
		if r := h.feed(t, "", words[0], words[1:]...); r.Code != 0 {
			t.Errorf("%s: %v", fix, r)
		}
	}
	want(t, "a call of what was lost", lost.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	d = h.doctor(t)["stale state"]
	want(t, "when all is typed", d.Status+" "+d.Found, "ok 3 sessions, 2 served")
}

// name is the container's name.
func (c *Container) name(t testing.TB) string {
	return strings.TrimPrefix(c.Inspect(t, "{{.Name}}"), "/")
}

// TestIntegrationDoctorImage checks the carrier with a container, which is then removed.
func TestIntegrationDoctorImage(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, os.Getuid() == 0)
	empty := image(t, "empty")
	d := h.doctor(t, "--image", empty)["carrier"]
	want(t, "carrier", d.Status+" "+d.Found, "ok socket: a call of a container of "+empty+" has arrived")
	d = h.doctor(t, "--image", "hostexec-e2e/none")["carrier"]
	want(t, "without the image", d.Status, "fail")
	want(t, "it says why", strings.Contains(d.Found, "No such image"), true)
	h.quiet(t, patience)
}

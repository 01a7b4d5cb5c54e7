// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// is fails the test unless a finding has a status, and its texts some words.
func (f finding) is(t *testing.T, name, status string, words ...string) {
	t.Helper()
	all := f.Found + "\n" + f.Means + "\n" + f.Fix
	if f.Status != status || f.Found == "" || f.Means == "" {
		t.Errorf("%s: %+v, want %s, and all texts", name, f, status)
	}
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("%s: no %q in\n%s", name, w, all)
		}
	}
}

func TestDoctorEngine(t *testing.T) {
	linux := types.Version{Os: "linux", APIVersion: "1.41", Version: "20.10.24", Arch: "amd64"}
	windows, old := linux, linux
	windows.Os, old.APIVersion = "windows", "1.40"
	for _, tt := range []struct {
		name, status string
		e            engineFacts
		words        []string
	}{
		{"as it should be", isOK, engineFacts{version: linux, endpoint: "unix:///x", context: "here"}, []string{"20.10.24, API 1.41", "unix:///x, context here", "as root"}},
		{"rootless", isOK, engineFacts{version: linux, info: system.Info{SecurityOptions: []string{"name=seccomp,profile=default", "name=rootless"}}}, []string{"rootless"}},
		{"userns", isOK, engineFacts{version: linux, info: system.Info{SecurityOptions: []string{"name=userns"}}}, []string{"userns-remap"}},
		{"windows", isFail, engineFacts{version: windows}, []string{"windows containers", "docker context ls"}},
		{"old", isWarn, engineFacts{version: old}, []string{"20.10", "upgrade"}},
		{"away", isFail, engineFacts{err: errors.New("refused"), endpoint: "unix:///x"}, []string{"unix:///x: refused", "systemctl start docker"}},
		{"not yours", isFail, engineFacts{err: fmt.Errorf("dial: %w", fs.ErrPermission), endpoint: "unix:///x"}, []string{"usermod -aG docker"}},
		{"hangs", isFail, engineFacts{err: errNoReply, endpoint: "unix:///x"}, []string{"within 10s", "journalctl"}},
		{"no such context", isFail, engineFacts{err: errors.New("context x: not found")}, []string{"context x: not found", "docker context use"}},
	} {
		tt.e.answers().is(t, tt.name, tt.status, tt.words...)
	}
}

func TestDoctorUIDs(t *testing.T) {
	facts := func(owner int, security ...string) engineFacts {
		return engineFacts{owner: owner, info: system.Info{SecurityOptions: security}}
	}
	for _, tt := range []struct {
		name, status string
		e            engineFacts
		uid          int
		words        []string
	}{
		{"rootful", isOK, facts(0, "name=apparmor"), 1000, []string{"uid 1000", "root in a container is root here", "--user"}},
		{"root", isWarn, facts(0), 0, []string{"commands of containers run as root", "ordinary user"}},
		{"one's own rootless", isOK, facts(1000, "name=rootless"), 1000, []string{"root in a container is you"}},
		{"another's rootless", isWarn, facts(1001, "name=rootless"), 1000, []string{"uid 1001's", "a volume on the engine has the shims"}},
		{"userns-remap", isOK, facts(0, "name=userns"), 1000, []string{"userns-remap", "an unknown uid here"}},
		{"elsewhere", isOK, facts(-1), 1000, []string{"another system"}},
		{"silent", isWarn, engineFacts{err: errNoReply}, 1000, []string{"does not answer"}},
	} {
		tt.e.uids(tt.uid).is(t, tt.name, tt.status, tt.words...)
	}
}

func TestDoctorArchitecture(t *testing.T) {
	for _, tt := range []struct {
		arch, status string
		words        []string
	}{
		{"x86_64", isOK, []string{"runs on amd64"}},
		{"aarch64", isOK, []string{"runs on arm64"}},
		{"loong64", isFail, []string{"runs on loong64", "no shim", "make build"}},
	} {
		e := engineFacts{version: types.Version{Arch: tt.arch}}
		e.architecture().is(t, tt.arch, tt.status, tt.words...)
	}
	silent := engineFacts{err: errNoReply}
	silent.architecture().is(t, "silent", isWarn, "does not answer")
	silent.events(t.Context()).is(t, "silent", isWarn, "does not answer")
}

func TestDoctorCarrier(t *testing.T) {
	e := engineFacts{info: system.Info{ID: "A"}}
	for _, tt := range []struct {
		name, status string
		known        state.EngineFacts
		e            engineFacts
		words        []string
	}{
		{"nothing known", isOK, state.EngineFacts{}, e, []string{"not known yet", "doctor --image IMAGE"}},
		{"socket", isOK, state.EngineFacts{ID: "A", Carrier: "socket"}, e, []string{"socket: a connection"}},
		{"relay", isOK, state.EngineFacts{ID: "A", Carrier: "relay"}, e, []string{"relay: a socket of this host does not work"}},
		{"remote files", isOK, state.EngineFacts{ID: "A", Carrier: "relay", RemoteFiles: true}, e, []string{"relay: this engine does not see"}},
		{"another engine", isWarn, state.EngineFacts{ID: "B", Carrier: "socket"}, e, []string{"another engine at the same address", "doctor --image IMAGE"}},
		{"silent", isWarn, state.EngineFacts{ID: "A", Carrier: "socket"}, engineFacts{err: errNoReply}, []string{"an earlier result"}},
	} {
		carrierKnown(tt.known, tt.e).is(t, tt.name, tt.status, tt.words...)
	}
}

func TestDoctorConfiguration(t *testing.T) {
	warning, wrong := policy.Problem{Position: "a:1", Text: "odd"}, policy.Problem{Position: "b:2", Text: "bad", Fatal: true}
	configured(nil, nil).is(t, "none", isOK, "--proxy alone")
	configured(nil, []string{"/x/config.yaml"}).is(t, "fine", isOK, "/x/config.yaml")
	configured([]policy.Problem{warning}, []string{"a"}).is(t, "odd", isWarn, "a:1: odd", "policy check")
	many := append(make([]policy.Problem, 6), warning, wrong)
	f := configured(many, []string{"a"})
	f.is(t, "wrong", isFail, "b:2: bad", "denies every request", "and 3 more", "policy check")
	if !strings.HasPrefix(f.Found, "b:2: bad\n") {
		t.Errorf("an error comes after a warning: %s", f.Found)
	}
}

// TestDoctorFiles checks the disk tests in a usable directory and in a removed one.
func TestDoctorFiles(t *testing.T) {
	for _, tt := range []struct {
		dir, status string
	}{{t.TempDir(), isOK}, {filepath.Join(t.TempDir(), "gone"), isFail}} {
		d := &doctor{scratch: tt.dir, store: &state.Store{Home: tt.dir}}
		d.sockets().is(t, "sockets", tt.status)
		d.locks().is(t, "locks", tt.status)
		f := d.fileEvents()
		if tt.status == isFail {
			tt.status = isWarn
		}
		f.is(t, "events", tt.status)
	}
	d := &doctor{scratchErr: errors.New("no space left"), store: &state.Store{Home: t.TempDir()}}
	for _, f := range []finding{d.sockets(), d.locks(), d.fileEvents(), d.stateDirectory()} {
		f.is(t, "without a place", isFail, "no space left", "HOSTEXEC_HOME")
	}
}

// TestDoctorUnserved judges sessions without a watcher.
func TestDoctorUnserved(t *testing.T) {
	store, err := state.OpenAt(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	d := &doctor{store: store}
	for _, tt := range []struct {
		name    string
		s       sessions.Session
		stopped bool
		fix     string // "": it is as it should be
	}{
		{"lost", sessions.Session{State: sessions.StateLost}, false, "docker hostexec resume --all"},
		{"stopped", sessions.Session{State: sessions.StateStopped}, true, ""},
		{"gone", sessions.Session{State: sessions.StateGone}, false, "docker hostexec prune"},
		{"exited", sessions.Session{State: sessions.StateExited}, false, ""},
		{"unknown", sessions.Session{State: sessions.StateUnknown}, false, "docker hostexec status -a"},
		{"an agent's", sessions.Session{State: sessions.StateExited, Session: state.Session{Agent: &state.Agent{Mode: "container"}}}, false, "docker hostexec prune"},
		{"an agent's that stays", sessions.Session{State: sessions.StateExited, Session: state.Session{Agent: &state.Agent{Mode: "container", Keep: true}}}, false, ""},
	} {
		tt.s.ID, tt.s.Container, tt.s.Created = state.NewID(), "c", time.Now()
		if err := errors.Join(store.Create(&tt.s.Session), store.NoteStopped(tt.s.ID, tt.stopped)); err != nil {
			t.Fatal(err)
		}
		var left leftovers
		d.unserved(&left, tt.s)
		if got := strings.Join(left.fixes, "; "); got != tt.fix || (len(left.found) > 0) != (tt.fix != "") {
			t.Errorf("%s: %q, fix %q, want %q", tt.name, left.found, got, tt.fix)
		}
	}
}

func TestDoctorFormats(t *testing.T) {
	all := []finding{
		{Probe: "a", Status: isOK, Found: "fine", Means: "good"},
		{Probe: "b", Status: isWarn, Found: "one\ntwo\x1b[m", Means: "so-so", Fix: "do it"},
		{Probe: "c", Status: isFail, Found: "x", Means: "bad", Fix: "y"},
	}
	var out bytes.Buffer
	if err := writeFindings(&out, all, "table"); err != nil {
		t.Fatal(err)
	}
	const want = `ok    a                fine
                       means: good
warn  b                one
                       two\x1b[m
                       means: so-so
                       fix:   do it
fail  c                x
                       means: bad
                       fix:   y
`
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out.String(), want)
	}
	if err := verdict(all); err == nil || err.Error() != "failed probes: c" {
		t.Errorf("verdict = %v", err)
	}
	if err := verdict(all[:2]); err != nil {
		t.Errorf("verdict without a failure = %v", err)
	}
	out.Reset()
	if err := writeFindings(&out, all[2:], "json"); err != nil || out.String() != `{"Fix":"y","Found":"x","Means":"bad","Probe":"c","Status":"fail"}`+"\n" {
		t.Errorf("as JSON: %s, %v", out.String(), err)
	}
}

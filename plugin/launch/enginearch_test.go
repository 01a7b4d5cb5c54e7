// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"testing"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// archEngine is an engine that counts how often it is asked what it runs on. All other requests panic.
type archEngine struct {
	client.APIClient
	id      string
	version types.Version
	asked   int
}

func (e *archEngine) ServerVersion(context.Context) (types.Version, error) {
	e.asked++
	return e.version, nil
}

// Info names the architecture of the kernel, which is another one.
func (e *archEngine) Info(context.Context) (system.Info, error) {
	return system.Info{ID: e.id, OSType: e.version.Os, Architecture: "riscv64"}, nil
}

// TestEngineArch asks an engine once, and again after another one was found at its place.
func TestEngineArch(t *testing.T) {
	if len(inject.Arches()) < 2 {
		t.Fatal("the shims are missing: make shims")
	}
	store := &state.Store{Home: t.TempDir()}
	api := &archEngine{id: "A", version: types.Version{Os: "linux", Arch: "arm"}}
	ask := func(by string, asked int, want string) {
		t.Helper()
		l := &Launch{Store: store, Plan: &Plan{Record: state.Session{Engine: "tcp://x", Carrier: by, Relay: by != carrier.ByFiles}}}
		if arch, err := l.engineArch(t.Context(), api); arch != want || err != nil || api.asked != asked {
			t.Errorf("engineArch = %q, %v after %d requests, want %q after %d", arch, err, api.asked, want, asked)
		}
	}
	ask("auto", 1, "arm")
	ask("auto", 1, "arm")
	ask(carrier.ByFiles, 1, "arm")
	ask(carrier.ByRelay, 1, "arm")
	if err := store.NoteEngine("tcp://x", state.EngineFacts{}); err != nil { // as a watcher does
		t.Fatal(err)
	}
	api.id, api.version.Arch = "B", "amd64"
	ask("auto", 2, "amd64")
	if got, want := store.Engine("tcp://x"), (state.EngineFacts{ID: "B", Arch: "amd64"}); got != want {
		t.Errorf("stored is %+v, want %+v", got, want)
	}
	if err := store.NoteEngine("tcp://x", state.EngineFacts{ID: "B", Arch: "vax"}); err != nil {
		t.Fatal(err)
	}
	ask("auto", 3, "amd64")
	api.version.Os = "windows"
	if err := store.NoteEngine("tcp://x", state.EngineFacts{}); err != nil {
		t.Fatal(err)
	}
	l := &Launch{Store: store, Plan: &Plan{Record: state.Session{Engine: "tcp://x", Relay: true}}}
	if arch, err := l.engineArch(t.Context(), api); err == nil {
		t.Errorf("engineArch of an engine of Windows = %q, want an error", arch)
	}
}

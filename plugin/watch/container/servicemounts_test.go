// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// TestUnknownMounts has an engine list a service's container but not report its mounts. Calls wait
// until it reports them, or reports that the container is gone.
//
// Attack 195.
func TestUnknownMounts(t *testing.T) {
	home := t.TempDir()
	rec := state.Session{ID: "0123456789ab", DevContainer: &state.DevContainer{Project: state.Devcontainers, Name: "s"}}
	log := slog.New(slog.DiscardHandler)
	mc := testCheck(home, rec)
	s := watch.NewSession(mc.record, log)
	m := &Mode{s: s, mounts: mc, admission: &admission{}, killer: &killer{record: mc.record, calls: s.Calls, log: log}}
	var code atomic.Int64
	asked := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			json.NewEncoder(rw).Encode([]container.Summary{{ID: "other", State: container.StateRunning}})
			return
		}
		if strings.HasSuffix(r.URL.Path, "/kill") {
			code.Store(404) // with --rm
			return
		}
		asked <- struct{}{}
		rw.WriteHeader(int(code.Load()))
		json.NewEncoder(rw).Encode(map[string]any{
			"message": "out of order", "Id": "other", "Name": "/other", "State": map[string]any{"Running": true}, "Mounts": []container.MountPoint{
				{Type: mount.TypeBind, Source: state.ShareDir(mc.record.Dir), Destination: state.Target}, {Type: mount.TypeBind, Source: home, Destination: "/s"},
			},
		})
	}))
	defer srv.Close()
	api, err := client.NewClientWithOpts(client.WithHost("tcp://"+srv.Listener.Addr().String()), client.WithVersion("1.44"))
	if err != nil {
		t.Fatal(err)
	}
	open := func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return m.admission.othersUnknown.pass(ctx)
	}
	for _, tt := range []struct {
		name string
		then int
		err  string
	}{{"it is gone", 404, ""}, {"it reaches the state", 200, "container other was killed: container other: the mount of " + home + " covers"}} {
		code.Store(500)
		if _, _, err := m.findRunning(t.Context(), api); err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("%s: look = %v, want what the engine says", tt.name, err)
		}
		<-asked
		done := make(chan error, 1)
		// ends with checkOthers.
		go func() { done <- m.checkOthers(t.Context(), api) }()
		<-asked
		<-asked // it looks again: the gate is shut by now
		if open() {
			t.Errorf("%s: calls go on", tt.name)
		}
		code.Store(int64(tt.then))
		if err := <-done; (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: checkOthers = %v, want %q", tt.name, err, tt.err)
		}
		if open() != (tt.err == "") {
			t.Errorf("%s: open = %t", tt.name, open())
		}
		for len(asked) > 0 {
			<-asked
		}
	}
}

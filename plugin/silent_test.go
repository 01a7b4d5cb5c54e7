// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A watcher that is there and does not answer, or not to the end, is not one that has gone: its
// session is neither lost nor to be removed, and what it runs is not nothing.
//
// Attack 213.
func TestSilentWatcher(t *testing.T) {
	for name, reply := range map[string]string{
		"nothing": "",
		"a part":  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n" + `{"api": 1, "running": [`,
	} {
		t.Run(name, func(t *testing.T) {
			store, err := state.OpenAt(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			recs := []state.Session{{ID: state.NewID(), Container: strings.Repeat("a", 64), Created: time.Now().Add(-time.Hour)}, {ID: state.NewID(), Proxy: &state.Proxy{}, Created: time.Now().Add(-time.Hour)}}
			var wg sync.WaitGroup
			t.Cleanup(wg.Wait) // after the listeners are closed
			for i := range recs {
				if err := store.Create(&recs[i]); err != nil {
					t.Fatal(err)
				}
				ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: state.ControlSock(store.Dir(recs[i].ID))})
				if err != nil {
					t.Fatal(err)
				}
				// ends when ln is closed, at the end of the test.
				wg.Go(func() {
					for {
						conn, err := ln.Accept()
						if err != nil {
							return
						}
						_, _ = conn.Read(make([]byte, 4096))
						_, _ = conn.Write([]byte(reply))
						conn.Close()
					}
				})
				t.Cleanup(func() { ln.Close() })
			}
			for _, s := range survey(t.Context(), nil, store, recs) {
				if s.State != stateUnknown || s.unanswered() == nil || s.Watcher != nil {
					t.Errorf("it is %s, %v", s.State, s.unanswered())
				}
				if prunable(store, s, time.Now()) {
					t.Error("prune removes it")
				}
				if err := resumable(s); err == nil || strings.Contains(err.Error(), "engine") {
					t.Errorf("resume says %v", err)
				}
			}
			if all, err := activities(t.Context(), store, recs); err == nil || errors.Is(err, control.ErrNoWatcher) {
				t.Errorf("activities = %d, %v", len(all), err)
			}
			var out bytes.Buffer
			if err := ps(t.Context(), &out, store, nil, psOptions{}); err == nil {
				t.Errorf("ps lists %q, and no error", out.String())
			}
		})
	}
}

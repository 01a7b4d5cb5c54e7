// SPDX-License-Identifier: Apache-2.0

// Package sessionstest makes sessions for tests.
package sessionstest

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Silent calls test with two sessions, one of a container and one of a proxy. Their watchers run, but send no answer or
// an incomplete one.
func Silent(t *testing.T, test func(t *testing.T, store *state.Store, recs []state.Session)) {
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
				socket := state.ControlSock(store.Dir(recs[i].ID))
				ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
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
			test(t, store, recs)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/carrier/http"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestPortsAt leaves the ports of other sessions alone, served or not, named or not.
func TestPortsAt(t *testing.T) {
	store, err := state.OpenAt(filepath.Join(t.TempDir(), "hostexec"))
	if err != nil {
		t.Fatal(err)
	}
	const own, other = "0123456789ab", "0123456789ac"
	for id, address := range map[string]string{own: "172.17.0.1:9999", other: "172.17.0.1:9998"} {
		rec := state.Session{ID: id, ContainerName: "web", HTTP: &state.HTTP{Device: "docker0", Address: address}}
		if err := store.Create(&rec); err != nil {
			t.Fatal(err)
		}
	}
	c := &Carriers{record: NewRecord(store, state.Session{ID: own}, nil)}
	at := func(addr string, port uint16) ([]uint16, error) {
		return c.portsAt(Gateway{Addr: netip.MustParseAddr(addr), Port: port})
	}
	if _, err := at("172.17.0.1", 9998); !errors.Is(err, http.ErrTaken) || !strings.Contains(err.Error(), "172.17.0.1:9998 is that of session "+other) ||
		!strings.HasSuffix(err.Error(), ": docker rm -f web, then docker hostexec prune") { // prune alone keeps that session
		t.Errorf("another session's: %v", err)
	}
	for addr, port := range map[string]uint16{"172.18.0.1": 9998, "172.17.0.1": 9999} {
		if got, err := at(addr, port); err != nil || len(got) != 1 || got[0] != port {
			t.Errorf("%s:%d: %v, %v", addr, port, got, err)
		}
	}
	if got, err := at("172.17.0.1", 0); err != nil || got[0] != 9999 {
		t.Errorf("the first free one: %v, %v", got, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"encoding/json"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"

	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Attack 176.
func TestParseHTTP(t *testing.T) {
	v4, v6 := netip.MustParseAddr("172.17.0.1"), netip.MustParseAddr("fd00::1")
	for _, tt := range []struct {
		text   string
		compat bool
		want   httpOptions
	}{
		{"", false, httpOptions{}},
		{"gateway", false, httpOptions{wanted: true}},
		{"gateway", true, httpOptions{wanted: true, cloister: true}},
		{":9999", false, httpOptions{wanted: true, port: 9999}},
		{"172.17.0.1", false, httpOptions{wanted: true, addr: v4}},
		{"172.17.0.1:9998", false, httpOptions{wanted: true, addr: v4, port: 9998}},
		{"[fd00::1]:9998", false, httpOptions{wanted: true, addr: v6, port: 9998}},
		{"[fd00::1]", false, httpOptions{wanted: true, addr: v6}},
	} {
		if got, err := parseHTTP(tt.text, tt.compat); err != nil || got != tt.want {
			t.Errorf("parseHTTP(%q) = %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
	for text, want := range map[string]string{
		"0.0.0.0": "every address", "0.0.0.0:9998": "every address", "[::]:1": "every address", "[::]": "every address",
		":": "want :PORT", ":0": "want :PORT", ":65536": "want :PORT", ":-1": "want :PORT", "localhost": "want :PORT",
		"9998": "want :PORT", "gateway:9998": "want :PORT", "http://172.17.0.1:9998": "want :PORT", "172.17.0.1:": "want :PORT",
	} {
		if got, err := parseHTTP(text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseHTTP(%q) = %+v, %v, want an error with %q", text, got, err, want)
		}
	}
	if _, err := parseHTTP("", true); err == nil || !strings.Contains(err.Error(), "--cloister-compat") {
		t.Errorf("--cloister-compat alone: %v", err)
	}
}

func TestGateway(t *testing.T) {
	named := []network.IPAMConfig{{Subnet: "172.18.0.0/16", Gateway: "172.18.0.1"}}
	unnamed := []network.IPAMConfig{{Subnet: "172.17.0.0/16"}, {Subnet: "fd00:1::/64", Gateway: "fd00:1::1"}}
	for _, tt := range []struct {
		addr string
		in   []network.IPAMConfig
		want bool
	}{
		{"172.18.0.1", named, true},
		{"172.18.0.2", named, false},
		{"172.17.0.1", unnamed, true},
		{"172.18.0.1", unnamed, false},
		{"fd00:1::1", unnamed, true},
		{"fd00:1::2", unnamed, false},
		{"172.17.0.1", nil, false},
	} {
		if got := isGateway(netip.MustParseAddr(tt.addr), tt.in); got != tt.want {
			t.Errorf("gateway(%s, %v) = %v, want %v", tt.addr, tt.in, got, tt.want)
		}
	}
	if addr, err := bridgeAddress("nonesuch0", named); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a bridge that is not here: %s, %v", addr, err)
	}
	if addr, err := bridgeAddress("lo", named); err == nil || !strings.Contains(err.Error(), "no address of this host's") {
		t.Errorf("a bridge without the address: %s, %v", addr, err)
	}
	if addr, err := bridgeAddress("lo", []network.IPAMConfig{{Gateway: "127.0.0.1"}}); err != nil || addr.String() != "127.0.0.1" {
		t.Errorf("a bridge with the address: %s, %v", addr, err)
	}
}

// TestListenAgain lets listenHTTP fail after the watcher listens, because the image is missing. After the pull, the
// container gets all additions.
func TestListenAgain(t *testing.T) {
	l := &Launch{Plan: &Plan{http: httpOptions{wanted: true, cloister: true}}, Dir: t.TempDir(), http: inject.HTTP{Address: "172.17.0.1:9"}}
	if err := os.WriteFile(state.HTTPTokenFile(l.Dir), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := Creation{Config: &container.Config{}, Host: &container.HostConfig{}, Image: &image.InspectResponse{}}
	if err := json.Unmarshal([]byte(`{"Config": {"Env": ["NO_PROXY=localhost"]}}`), want.Image); err != nil {
		t.Fatal(err)
	}
	if err := l.listenHTTP(t.Context(), nil, want); err != nil {
		t.Fatal(err)
	}
	if l.http.Token != "secret" || !slices.Equal(l.imageEnv, []string{"NO_PROXY=localhost"}) {
		t.Errorf("the token is %s and the image's environment %v", l.http.Token, l.imageEnv)
	}
	if hosts := l.additions(want, "/bin").ExtraHosts; len(hosts) != 1 || !strings.HasSuffix(hosts[0], ":172.17.0.1") {
		t.Errorf("the hosts are %v", hosts)
	}
}

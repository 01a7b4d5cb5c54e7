// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sharedContainers are those in which most tests make their calls, one for each carrier.
type sharedContainers struct {
	mu sync.Mutex
	of map[string]*Container
}

var (
	hostsOnce sync.Once
	hosts     []*Host
)

// dockerUsers returns the users who use docker on this host, for the whole run of the tests.
func dockerUsers(t testing.TB) []*Host {
	t.Helper()
	hostsOnce.Do(func() {
		hosts = append(hosts, newHost(t, false))
		if os.Getuid() == 0 {
			hosts = append(hosts, newHost(t, true))
		}
	})
	if len(hosts) == 0 {
		t.Fatal("an earlier test could not set up the users of docker")
	}
	return hosts
}

// forEachUser runs f for each person at the host, as one kind of user in that person's shared
// container; and for one of them with the other carrier. What a carrier cannot do stands in
// docs/carriers.md, and f asks for c.Carrier.
func forEachUser(t *testing.T, f func(t *testing.T, c *Container)) {
	bySocket(t, f)
	all := dockerUsers(t)
	h := all[len(all)-1]
	t.Run(h.Name+"/relay/uid1000", func(t *testing.T) { f(t, h.Shared(t, "relay").As("1000")) })
}

// bySocket pairs users for features that only the socket has: root on the host with a user in the
// container, and the other way round, as is most common.
func bySocket(t *testing.T, f func(t *testing.T, c *Container)) {
	users := []string{"1000", "0"}
	for i, h := range dockerUsers(t) {
		t.Run(h.Name+"/uid"+users[i], func(t *testing.T) { f(t, h.Shared(t, "socket").As(users[i])) })
	}
}

// anyUser is one of the users, for long tests that do not depend on the user.
func anyUser(t testing.TB) []*Host {
	t.Helper()
	all := dockerUsers(t)
	return all[len(all)-1:]
}

// Shared returns the person's shared container of a carrier, with every command of proxies.
func (h *Host) Shared(t testing.TB, carrier string) *Container {
	t.Helper()
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	if c := h.shared.of[carrier]; c != nil && h.Docker(t, "inspect", "--format", "{{.State.Running}}", c.ID).Out == "true\n" {
		return c
	}
	lost := h.Write(t, h.Home, "lost", "#!/bin/sh\n", 0o755)
	unfit := h.Write(t, h.Home, "unfit", "#!/bin/sh\n", 0o755)
	flags := append(proxies(t), "--proxy", "lost="+lost, "--proxy", "unfit="+unfit, "--proxy", "banned=deny", "-e", "CONTAINER_SECRET=of the container", "--carrier", carrier)
	c := h.detached(t, h.holding(t, flags)...)
	c.Carrier = carrier
	if h.shared.of == nil {
		h.shared.of = map[string]*Container{}
	}
	h.shared.of[carrier] = c
	want(t, "a first call", c.Exec(t, "htrue").Code, 0) // it waits for the relay, which tests without a shim do not
	check(t, os.Remove(lost))
	check(t, os.Chmod(unfit, 0o644))
	return c
}

// proxies are the host's programs that tests call. The names with an h are not in the
// image, so that they cannot be mistaken for the container's.
func proxies(t testing.TB) (flags []string) {
	t.Helper()
	for name, path := range map[string]string{
		"hp": probePath(t), "hsh": "/bin/sh", "hcat": find(t, "cat"), "htee": find(t, "tee"), "htrue": find(t, "true"),
		"make": find(t, "make"), "vi": find(t, "vi", "busybox"), "hless": find(t, "less"), "htty": find(t, "tty"),
		"hstty": find(t, "stty"), "hbash": find(t, "bash"),
	} {
		flags = append(flags, "--proxy", name+"="+path)
	}
	return flags
}

// find returns the first of names that the host has.
func find(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			p, err = filepath.Abs(p)
			check(t, err)
			return p
		}
	}
	t.Fatalf("this host has no %s, which the tests need: install it with your package manager", strings.Join(names, " or "))
	return ""
}

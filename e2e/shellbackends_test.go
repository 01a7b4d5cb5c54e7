// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shellBackend is a session, and where the shells of a test are: on the host, or in a container.
type shellBackend struct {
	*Container
	in string // the container's name, "" on the host
}

// forEachShellBackend runs f on the host and in a container of the full image, each for another person.
func forEachShellBackend(t *testing.T, f func(t *testing.T, g shellBackend)) {
	needBash(t)
	all := dockerUsers(t)
	t.Run("host", func(t *testing.T) { f(t, shellBackend{Container: all[len(all)-1].Holding(t, "--proxy-shell")}) })
	t.Run("inside", func(t *testing.T) {
		name := all[0].target(t, "full", nil, "/probe", "hold")
		f(t, shellBackend{all[0].Holding(t, "--proxy-shell=allow,in="+name), name})
	})
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// target starts a container that is no session's, and returns its name.
func (h *Host) target(t testing.TB, img string, flags []string, cmd ...string) string {
	t.Helper()
	name := unique(notInNames.ReplaceAllString(strings.ToLower(t.Name()), "-"))
	args := append([]string{"run", "-d", "--label", runLabel, "--network", "none", "--name", name}, flags...)
	h.Must(t, append(append(args, image(t, img)), cmd...)...)
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", name) })
	return name
}

// create are the words that make a shell there.
func (g shellBackend) create(words string) string {
	if g.in != "" {
		words = "--in " + g.in + " " + words
	}
	return "hostexec session create " + words
}

// x runs script in the session's container, where x TEXT [OPTIONS] runs TEXT in the shell s,
// and create makes shells of this backend.
func (g shellBackend) x(t testing.TB, script string) Result {
	t.Helper()
	return g.Sh(t, `x() { t=$1; shift; hostexec session exec s "$@" -- "$t"; }; create() { `+g.create(`"$@"`)+`; }; `+script)
}

// make makes the shell s.
func (g shellBackend) make(t testing.TB) shellBackend {
	t.Helper()
	if r := g.x(t, `create s`); r.Code != 0 {
		t.Fatalf("create a shell: %v", r)
	}
	return g
}

// sleepers are the processes that sleep for so many seconds, here and in all containers.
func sleepers(seconds string) []int {
	return slices.DeleteFunc(processes("sleep", seconds), func(pid int) bool { return strings.TrimSpace(cmdline(pid)) != "sleep "+seconds })
}

func sleeping(seconds string) int { return len(sleepers(seconds)) }

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const withServices = `services:
  web:
    image: "${IMAGE}"
    command: sleep 1000
    network_mode: none
    volumes: [".:/src"]
    working_dir: /src
    depends_on: {db: {condition: service_healthy}}
  db:
    image: "${IMAGE}"
    command: sleep 1000
    network_mode: none
    healthcheck: {test: ["CMD", "true"], interval: 1s}
`

// calls has a container of the project call sh of this host, and wants the code and the output.
func (p *Project) calls(t *testing.T, container, wanted string) {
	t.Helper()
	var r Result
	eventually(t, patience, "container "+container+" can call", func() bool {
		r = p.Docker(t, "exec", p.Name+"-"+container, "hsh", "-c", "echo called in $PWD")
		return !strings.HasPrefix(r.Out, "OCI runtime exec failed: exec failed: unable to start")
	})
	want(t, "a call of "+container, fmt.Sprintf("%d %s", r.Code, strings.TrimSpace(r.Out)), wanted)
}

// TestIntegrationWithCompose runs compose's operations on containers. The host's configuration names the
// service, and the compose file does not mention hostexec.
func TestIntegrationWithCompose(t *testing.T) {
	t.Parallel()
	p := project(t, "compose", "web", "db")
	p.Write(t, p.Dir, "with.yaml", withServices, 0o644)
	p.mkdir(t, p.State+"/projects")
	allow := func(proxies string) {
		p.Write(t, p.State+"/projects", "work.yaml", "services: {web: {proxies: ["+proxies+"]}}\n", 0o600)
	}
	compose := func(flags string, args ...string) string {
		t.Helper()
		return p.Must(t, withDocker(flags, p.plain("with.yaml", args...)...)...)
	}
	t.Cleanup(func() { p.Docker(t, p.plain("with.yaml", "down", "-t0")...) })
	allow("hsh=/bin/sh, make")
	called := "0 called in " + p.Dir
	compose("", "up", "-d")
	first := p.id(t, "web-1")
	p.calls(t, "web-1", called)
	want(t, "sessions", len(p.Sessions(t)), 1) // none for db
	compose("", "up", "-d")
	want(t, "the container after up again", p.id(t, "web-1"), first)
	compose("", "restart")
	p.calls(t, "web-1", called)
	compose("", "up", "-d", "--scale", "web=3")
	for _, replica := range []string{"web-1", "web-2", "web-3"} {
		p.calls(t, replica, called)
	}
	want(t, "sessions of replicas", len(p.Sessions(t)), 3)
	want(t, "compose run", compose("", "run", "--rm", "-T", "web", "hsh", "-c", "echo $PWD"), p.Dir+"\n")

	allow("make")
	compose("", "up", "-d", "--scale", "web=1") // says Running
	want(t, "the container after a narrowing", p.id(t, "web-1"), first)
	p.calls(t, "web-1", "127 ")
	allow("hsh=/bin/sh, make")
	compose("", "up", "-d")
	p.calls(t, "web-1", "127 ") // commands are added by a new container only
	compose("", "up", "-d", "--force-recreate")
	p.calls(t, "web-1", called)
	compose("", "down")
	eventually(t, patience, "the sessions have gone", func() bool { return len(p.Sessions(t)) == 0 })
}

// TestIntegrationWithProposal: services: of a workspace counts when a person has trusted it, until it changes.
//
// Attack 244.
func TestIntegrationWithProposal(t *testing.T) {
	t.Parallel()
	p := project(t, "compose", "web", "db")
	p.Write(t, p.Dir, "with.yaml", withServices, 0o644)
	up := func() {
		t.Helper()
		p.Must(t, withDocker("", p.plain("with.yaml", "up", "-d", "--force-recreate", "web")...)...)
	}
	t.Cleanup(func() { p.Docker(t, p.plain("with.yaml", "down", "-t0")...) })
	p.Write(t, p.Dir, ".hostexec.yaml", "services: {web: {proxies: [hsh=/bin/sh]}}\n", 0o644)
	up()
	want(t, "sessions by a file that is not trusted", len(p.Sessions(t)), 0)
	p.Must(t, "hostexec", "trust", "--force")
	up()
	p.calls(t, "web-1", "0 called in "+p.Dir)
	p.Write(t, p.Dir, ".hostexec.yaml", "services: {web: {proxies: [hsh=/bin/sh, git]}}\n", 0o644)
	up()
	eventually(t, patience, "the session of the file that has changed is gone", func() bool { return len(p.Sessions(t)) == 0 })
}

// TestIntegrationAttackWithProvider checks that flags in a compose file that makes compose call
// hostexec are ignored.
//
// Attack 259.
func TestIntegrationAttackWithProvider(t *testing.T) {
	t.Parallel()
	p := project(t, "compose", "web", "db")
	p.Write(t, p.Dir, "with.yaml", withServices+`  more:
    provider: {type: hostexec, options: {proxy: hsh=/bin/sh, all: "true", help: "true"}}
`, 0o644)
	t.Cleanup(func() { p.Docker(t, p.plain("with.yaml", "down", "-t0")...) })
	r := p.Docker(t, withDocker("--proxy make", p.plain("with.yaml", "up", "-d", "more")...)...)
	if r.Code == 0 || !strings.Contains(r.Err, "failed to create service provider") {
		t.Errorf("up: %v", r)
	}
	want(t, "sessions", len(p.Sessions(t)), 0)
}

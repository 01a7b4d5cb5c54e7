// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import "testing"

// TestIntegrationComposeRelays has each of several containers of a service call by a relay of its
// own: at once, when it was added, when it was started again, and when the first is gone, which
// ends no call of another's.
func TestIntegrationComposeRelays(t *testing.T) {
	p := project(t, "compose", "web")
	p.Write(t, p.Work, "relays.yaml", `services:
  web:
    image: ${IMAGE}
    x-hostexec: {proxy: [make, hsh=/bin/sh], carrier: relay, workspace: .}
    command: tail -f /dev/null
    network_mode: none
`, 0o644)
	compose := func(args ...string) {
		t.Helper()
		p.Must(t, p.args(true, "relays.yaml", args...)...)
	}
	compose("up", "-d", "--scale", "web=2")
	p.says(t, "web-1", "one")
	p.says(t, "web-2", "two")
	compose("up", "-d", "--scale", "web=3")
	p.says(t, "web-3", "three")
	p.Must(t, "restart", "-t0", p.Name+"-web-2")
	p.says(t, "web-2", "again")

	p.Must(t, "exec", "-d", p.Name+"-web-3", "hsh", "-c", "echo $$ >number.new; mv number.new number; exec sleep 1000")
	eventually(t, patience, "a call of the third runs", func() bool { return exists(p.Work + "/number") })
	long := hold(t, atoi(t, string(readFile(t, p.Work+"/number"))))
	p.Must(t, "rm", "-f", p.Name+"-web-1")
	p.says(t, "web-2", "left")
	p.says(t, "web-3", "left, too")
	want(t, "the call of before has gone", long.Gone(0), false)
	compose("down", "-t0")
	long.Ends(t, grace)
	p.quiet(t, soon)
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
)

// TestIntegrationShellJSONLost kills the watcher while a text runs. A caller of JSON gets its last object all the same,
// by every carrier.
func TestIntegrationShellJSONLost(t *testing.T) {
	needBash(t)
	h := newHost(t, false)
	for _, by := range []string{"socket", "relay", "files"} {
		for _, verb := range []string{"exec", "start"} {
			t.Run(by+"/"+verb, func(t *testing.T) {
				c := h.Detached(t, "--network", "none", "--carrier", by, "--proxy-shell", image(t, "full"), "/probe", "hold")
				want(t, "create", c.Exec(t, "hostexec", "session", "create", "s").Code, 0)
				const text = `echo "é"; exec sleep 4717`
				call := c.Start(t, "hostexec", "session", verb, "--json", "s", "--", text)
				eventually(t, soon, "it runs", func() bool { return sleeping("4717") == 1 })
				h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
				r := call.Wait(t)
				want(t, "code", r.Code, 125)
				lines := strings.Split(strings.TrimSpace(r.Out), "\n")
				var got struct {
					Type, Command, Error string
					ExitCode             int `json:"exit_code"`
				}
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil || got.Error == "" {
					t.Fatalf("the last line of %v: %v", r, err)
				}
				want(t, "exit code", got.ExitCode, 125)
				if verb == "exec" {
					want(t, "command", got.Command, text)
				} else {
					want(t, "event", got.Type, "complete")
				}
			})
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// onThisHost is for commands none of which run elsewhere.
func onThisHost(state.Command) bool { return false }

// parseShell reads the value of --proxy-shell, and finds the host's bash. Without the flag
// there is nothing: rules may allow shells, which find their bash themselves.
func parseShell(action, path string) (*state.Command, error) {
	if action == "" {
		return nil, nil
	}
	if _, err := policy.ParseAction(action); err != nil {
		return nil, fmt.Errorf("--proxy-shell=%s: neither allow, ask nor deny", quoted(action))
	}
	c := []state.Command{{Name: "bash", Action: action, Explicit: action != "allow"}}
	if err := resolve(c, path, onThisHost); err != nil {
		return nil, fmt.Errorf("--proxy-shell: %w", err)
	}
	c[0].Name = policy.Shell
	return &c[0], nil
}

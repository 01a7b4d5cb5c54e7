// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// parseShell parses the value of --proxy-shell, [ACTION][,where=sandbox][,in=CONTAINER]..., and finds the host's bash.
// Without the flag it returns nil: shells that rules allow find bash themselves.
func parseShell(value, path string) (*state.Command, error) {
	if value == "" {
		return nil, nil
	}
	sh, err := parseShellValue(value)
	if err != nil {
		return nil, fmt.Errorf("--proxy-shell=%s: %w", names.Quoted(value), err)
	}
	in := sh.In
	sh.Name, sh.In = "bash", nil
	c := []state.Command{sh}
	if err := ResolveCommands(c, path, func(state.Command) bool { return false }); err != nil {
		return nil, fmt.Errorf("--proxy-shell: %w", err)
	}
	c[0].Name, c[0].In = policy.Shell, in
	return &c[0], nil
}

func parseShellValue(value string) (c state.Command, err error) {
	c.Action = "allow"
	for i, word := range strings.Split(value, ",") {
		name, named := strings.CutPrefix(word, "in=")
		switch _, err := policy.ParseAction(word); {
		case named && !names.Container.Matches(name):
			return c, fmt.Errorf("%s cannot be the name of a container", names.Quoted(name))
		case named:
			c.In = append(c.In, name)
		case word == "where=sandbox":
			c.Where = &state.Place{Sandboxed: true}
		case i > 0 || err != nil:
			return c, errors.New("must be allow, ask, deny, where=sandbox or in=CONTAINER")
		default:
			c.Action = word
		}
	}
	c.Explicit = c.Action != "allow"
	return c, nil
}

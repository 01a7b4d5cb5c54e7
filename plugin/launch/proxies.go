// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ParseProxies reads the values of all --proxy flags, in order.
func ParseProxies(values []string) ([]state.Command, error) {
	all := make([]state.Command, 0, len(values))
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		c, err := config.ParseProxy(v)
		if err == nil && seen[c.Name] {
			err = errors.New("given twice")
		}
		if err != nil {
			return nil, fmt.Errorf("--proxy %s: %w", names.Quoted(v), err)
		}
		seen[c.Name] = true
		all = append(all, c)
	}
	return all, nil
}

// ConfiguredCommands returns the proxied commands of the configuration (proxies:), in its order.
func ConfiguredCommands(c *config.Config) ([]state.Command, error) {
	var values []string
	for _, p := range c.Proxies {
		values = append(values, p.Value)
	}
	return ParseProxies(values)
}

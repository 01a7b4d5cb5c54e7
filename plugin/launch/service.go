// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"cmp"
	"slices"

	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// With returns o with the options that the configuration has for a service. Flags take precedence over them.
func (o Options) With(s config.Service) Options {
	given, _ := ParseProxies(o.Proxies) // Plan returns the error
	o.Proxies = slices.Clone(o.Proxies)
	for _, value := range s.Proxies {
		c, _ := config.ParseProxy(value) // parsed before
		if state.FindCommand(given, c.Name) == nil {
			o.Proxies = append(o.Proxies, value)
		}
	}
	o.Shell = cmp.Or(o.Shell, s.Shell)
	o.Workspace = cmp.Or(o.Workspace, s.Workspace)
	o.WorkdirHost = cmp.Or(o.WorkdirHost, s.WorkdirHost)
	if s.Carrier != "" && (o.Carrier == "" || o.Carrier == "auto") {
		o.Carrier = s.Carrier
	}
	o.HTTP = cmp.Or(o.HTTP, s.HTTP)
	o.cloister = o.cloister || s.CloisterCompat
	o.NewPrivs = o.NewPrivs || s.NewPrivs
	o.PassEnv = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.PassEnv, s.PassEnv))))
	return o
}

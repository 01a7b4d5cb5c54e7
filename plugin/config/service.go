// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Service holds the options of docker hostexec with for the containers of one compose service. The values are those of
// the flags, unchecked.
type Service struct {
	Proxies        []string
	Shell          string
	Workspace      string
	WorkdirHost    string
	PassEnv        []string
	NewPrivs       bool
	Carrier        string
	HTTP           string
	CloisterCompat bool   // --cloister-compat: for clients of cloister, another program for agents
	Position       string // file:line
}

// readServices reads the services section.
func (d *document) readServices(n *yaml.Node) {
	d.services = map[string]Service{}
	d.each(n, "services", func(key, value *yaml.Node) {
		d.services[key.Value] = d.service(key, value)
	})
}

func (d *document) service(key, n *yaml.Node) Service {
	s := Service{Position: d.where(key)}
	what := "services." + names.Quoted(key.Value)
	word := func(name string, into *string) func(*yaml.Node) { return scalar(d.reader, name, into, text) }
	d.fields(n, what, map[string]func(*yaml.Node){
		"proxies": func(n *yaml.Node) {
			d.readProxyList(n, what+".proxies", func(p ProxiedCommand) { s.Proxies = append(s.Proxies, p.Value) })
		},
		"proxy_shell":     word("proxy_shell", &s.Shell),
		"workspace":       word("workspace", &s.Workspace),
		"workdir_host":    word("workdir_host", &s.WorkdirHost),
		"pass_env":        d.scalars("pass_env", &s.PassEnv),
		"allow_new_privs": scalar(d.reader, "allow_new_privs", &s.NewPrivs, parseBool),
		"carrier":         scalar(d.reader, "carrier", &s.Carrier, choice("auto", "socket", "relay", "files")),
		"http":            word("http", &s.HTTP),
		"cloister_compat": scalar(d.reader, "cloister_compat", &s.CloisterCompat, parseBool),
	})
	return s
}

// service adds a service of d. The entries of files have the same precedence as in proxy.
func (c *Config) service(name string, more Service, d *document) {
	if c.Services == nil {
		c.Services = map[string]Service{}
	}
	if old, exists := c.Services[name]; exists && d.role == workspace {
		c.warn(more.Position, fmt.Sprintf("services: %s: not used, because %s defines it", names.Quoted(name), old.Position))
		return
	}
	for _, value := range more.Proxies {
		p := ProxiedCommand{Value: value, Position: more.Position}
		if i := c.indexProxy(p.name()); i >= 0 && d.role == workspace && c.Proxies[i].Value != value {
			c.refuse(more.Position, "services: "+names.Quoted(name), "the host's configuration has "+names.Quoted(c.Proxies[i].Value)+" in proxies: a workspace cannot replace it")
			return
		}
		if !c.mayProxy(p, d) {
			return
		}
	}
	c.Services[name] = more
}

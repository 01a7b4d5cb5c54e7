// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"net"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// HTTP holds the environment with which a container makes calls over HTTP. The token for hostexec's own
// clients is in the share.
type HTTP struct {
	Address  string // host and port
	Guardian string // host name that clients of cloister, another program for agents, use; "" without them
	Token    string // for cloister's clients
}

// Env returns a copy of env with these variables. image is the environment of the image.
func (h HTTP) Env(image, env []string) []string {
	set := map[string]string{"HOSTEXEC_URL": "http://" + h.Address}
	if host, port, err := net.SplitHostPort(h.Address); err == nil && h.Guardian != "" {
		set["CLOISTER_GUARDIAN_HOST"], set["CLOISTER_REQUEST_PORT"], set["CLOISTER_TOKEN"] = h.Guardian, port, h.Token
		for _, name := range []string{"NO_PROXY", "no_proxy"} { // programs read one or the other
			set[name] = noProxy(append(slices.Clone(image), env...), name, h.Guardian, host)
		}
	}
	add := make([]string, 0, len(set))
	for name, value := range set {
		add = append(add, name+"="+value)
	}
	slices.Sort(add)
	return osenv.Set(env, add...)
}

// noProxy returns the value of name in env, with hosts appended.
func noProxy(env []string, name string, hosts ...string) string {
	if value, _, _ := variable(env, name); value != "" {
		hosts = append([]string{value}, hosts...)
	}
	return strings.Join(hosts, ",")
}

// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"net"
	"slices"
	"strings"
)

// HTTP is what a container is told of how it calls over HTTP. Its token is in the share.
type HTTP struct {
	Address  string // host and port
	Guardian string // what cloister's clients call the host; "" where there are none
	Token    string // for them
}

// Env returns a copy of env with that in it. image is the environment of the image.
func (h HTTP) Env(image, env []string) []string {
	set := map[string]string{"HOSTEXEC_URL": "http://" + h.Address}
	if host, port, err := net.SplitHostPort(h.Address); err == nil && h.Guardian != "" {
		set["CLOISTER_GUARDIAN_HOST"], set["CLOISTER_REQUEST_PORT"], set["CLOISTER_TOKEN"] = h.Guardian, port, h.Token
		for _, name := range []string{"NO_PROXY", "no_proxy"} { // programs read one or the other
			set[name] = noProxy(append(slices.Clone(image), env...), name, h.Guardian, host)
		}
	}
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, ours := set[name]
		return ours
	})
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	slices.Sort(out[len(out)-len(set):])
	return out
}

// noProxy is what env says of name, and hosts.
func noProxy(env []string, name string, hosts ...string) string {
	for _, kv := range slices.Backward(env) {
		if kv == name {
			break
		}
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			if value != "" {
				hosts = append([]string{value}, hosts...)
			}
			break
		}
	}
	return strings.Join(hosts, ",")
}

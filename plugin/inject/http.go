// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"net"
	"slices"
	"strings"
)

// HTTP holds the environment with which a container makes calls over HTTP. The token for hostexec's own
// clients is in the share.
type HTTP struct {
	Address  string // host and port
	Guardian string // host name that cloister's clients use; "" without them
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

// noProxy returns the value of name in env, with hosts appended.
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

// SPDX-License-Identifier: Apache-2.0

package git

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// Addresses over the network, which start no program but the person's ssh. A transport of
// another name (ext::, or any git-remote-NAME), and a host or a user that begins with a
// minus, are none of them.
var (
	webAddress = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A(https?|git|ssh|git\+ssh|ssh\+git)://([A-Za-z0-9_%][^/@]*@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]*)?(/[^\x00-\x1f\x7f]*)?\z`)
	})
	sshAddress = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A([A-Za-z0-9_][A-Za-z0-9._+-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*:([^:\x00-\x1f\x7f-][^:\x00-\x1f\x7f]*)?\z`)
	})
)

// overNetwork reports whether git takes address for that of another host.
func overNetwork(address string) bool {
	if strings.Contains(address, "://") {
		return webAddress().MatchString(address)
	}
	return !strings.Contains(address, "::") && sshAddress().MatchString(address)
}

// local returns the absolute path that address is, if it is one.
func local(address string) (string, bool) {
	p := strings.TrimPrefix(address, "file://")
	return path.Clean(p), path.IsAbs(p)
}

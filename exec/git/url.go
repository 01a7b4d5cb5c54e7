// SPDX-License-Identifier: Apache-2.0

package git

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// Network addresses for which git starts no program other than the user's ssh. They exclude
// transport helpers (ext::, or any git-remote-NAME), and hosts or users that begin with a minus.
var (
	webAddress = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A(https?|git|ssh|git\+ssh|ssh\+git)://([A-Za-z0-9_%][^/@]*@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]*)?(/[^\x00-\x1f\x7f]*)?\z`)
	})
	sshAddress = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A([A-Za-z0-9_][A-Za-z0-9._+-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*:([^:\x00-\x1f\x7f-][^:\x00-\x1f\x7f]*)?\z`)
	})
)

// isNetworkAddress reports whether git treats address as an address of another host.
func isNetworkAddress(address string) bool {
	if strings.Contains(address, "://") {
		return webAddress().MatchString(address)
	}
	return !strings.Contains(address, "::") && sshAddress().MatchString(address)
}

// localPath returns the absolute path in address, if it contains one.
func localPath(address string) (string, bool) {
	p := strings.TrimPrefix(address, "file://")
	return path.Clean(p), path.IsAbs(p)
}

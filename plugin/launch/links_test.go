// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"testing"
)

// An image such as node has programs of its own where login shells look: no link takes their place.
func TestLinkWarning(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"all are linked", nil, ""},
		{"the image has one", ownPrograms{"npm"}, "login shells run the container's own npm, in /usr/local/bin; to run this host's, call /run/hostexec/bin/NAME"},
		{"none can be linked", errors.New("it is read-only"), "login shells find at most the container's own git, npm (it is read-only): call /run/hostexec/bin/hostexec NAME"},
	} {
		if got := linkWarning(tt.err, []string{"git", "npm"}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

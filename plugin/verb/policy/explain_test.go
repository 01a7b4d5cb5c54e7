// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestExplainKept checks that explain reports for a session's command whether its jobs may be kept,
// and for other commands does not.
func TestExplainKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		all := config.PolicyCommands([]state.Command{{Name: "npm", Action: "allow", Path: "/bin/npm", Keep: keep}})
		var b strings.Builder
		if err := explain(&b, &policy.Policy{Commands: all}, []string{"npm"}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "may outlive the container") != keep {
			t.Errorf("with keep %t it says %q", keep, b.String())
		}
	}
}

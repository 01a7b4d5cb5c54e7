// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"
)

func TestCompleteFilter(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir()) // there are no sessions
	for typed, want := range map[string]string{
		"":         "id= container= session= command= kind= status=",
		"ki":       "id= container= session= command= kind= status=", // the shell picks
		"kind=":    "kind=call kind=job",
		"command=": "",
		"bogus=":   "",
	} {
		if got := strings.Join(completeFilter(activityCriteria, valuesOf, typed), " "); got != want {
			t.Errorf("completion of --filter %q = %q, want %q", typed, got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package plugin

import "testing"

func TestResumable(t *testing.T) {
	for st, ok := range map[string]bool{
		stateLost: true, stateStopped: true, stateRunning: false, stateWaiting: false, stateExited: false, stateGone: false, stateUnknown: false, "": false,
	} {
		if err := resumable(session{State: st}); (err == nil) != ok {
			t.Errorf("resumable(%q) = %v, want ok %v", st, err, ok)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// TestLifecycleTable holds the table of tables/lifecycle.md to the tests that there are.
func TestLifecycleTable(t *testing.T) {
	if rows := checkTable(t, "lifecycle.md", "Tests", "what"); rows < 20 {
		t.Errorf("%d rows, want 20 at least", rows)
	}
}

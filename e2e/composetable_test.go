// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// TestComposeTable holds the table of tables/compose.md to the tests that there are.
func TestComposeTable(t *testing.T) {
	if rows := checkTable(t, "compose.md", "Tests", "what"); rows < 11 {
		t.Errorf("%d rows, want 11 at least", rows)
	}
}

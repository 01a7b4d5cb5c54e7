// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// TestHTTPTable holds the table of tables/http.md to the tests that there are.
func TestHTTPTable(t *testing.T) {
	if rows := checkTable(t, "http.md", "Tests", "what"); rows < 14 {
		t.Errorf("%d rows, want 14 at least", rows)
	}
}

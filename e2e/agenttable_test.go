// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// TestAgentTable holds the table of tables/agent.md to the tests that there are.
func TestAgentTable(t *testing.T) {
	if rows := checkTable(t, "agent.md", "Tests", "what"); rows < 20 {
		t.Errorf("%d rows, want 20 at least", rows)
	}
}

// TestAgentPromises holds the other table to having a row for every promise.
func TestAgentPromises(t *testing.T) { checkPromises(t, "agent.md", "F003", 98) }

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocs parses the examples of the manual.
func TestDocs(t *testing.T) {
	var blocks []string
	for _, name := range []string{"policy.md", "approvals.md", "agent.md", "audit.md", "git.md", "limits.md", "with.md"} {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, strings.Split(string(text), "```yaml\n")[1:]...)
	}
	blocks = slices.DeleteFunc(blocks, func(b string) bool { return strings.Contains(b, "# in compose.yaml") })
	if len(blocks) != 9 {
		t.Errorf("%d examples, want 9", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		of := global
		if strings.HasPrefix(block, "project:") {
			of = project
		}
		d := parse("an example", []byte(block), of)
		for _, p := range append(d.problems, d.warnings...) {
			t.Error(p)
		}
		c := Load(home(t, map[string]string{"state/config.yaml": strings.TrimPrefix(block, "project: /home/you/src/app\n")}))
		if c.Err != nil {
			t.Error(c.Err)
		}
	}
}

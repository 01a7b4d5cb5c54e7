// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"strings"
	"testing"
)

// TestDocs parses the examples of the manual.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) != 2 {
		t.Errorf("%d examples, want 2", len(blocks))
	}
	for i, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		d := parse("policy.md", []byte(block), role(i)) // the first example is config.yaml, the second a project's file
		for _, p := range append(d.problems, d.warnings...) {
			t.Error(p)
		}
		c := Load(home(t, map[string]string{"state/config.yaml": strings.TrimPrefix(block, "project: /home/you/src/app\n")}))
		if c.Err != nil {
			t.Error(c.Err)
		}
	}
}

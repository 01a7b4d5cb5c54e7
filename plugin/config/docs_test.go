// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"strings"
	"testing"
)

// TestDocs parses the examples of the manual.
func TestDocs(t *testing.T) {
	var blocks []string
	for _, name := range []string{"policy.md", "approvals.md"} {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, strings.Split(string(text), "```yaml\n")[1:]...)
	}
	if len(blocks) != 3 {
		t.Errorf("%d examples, want 3", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		of := global
		if strings.HasPrefix(block, "project:") {
			of = project
		}
		d := parse("policy.md", []byte(block), of)
		for _, p := range append(d.problems, d.warnings...) {
			t.Error(p)
		}
		c := Load(home(t, map[string]string{"state/config.yaml": strings.TrimPrefix(block, "project: /home/you/src/app\n")}))
		if c.Err != nil {
			t.Error(c.Err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIncompleteFile checks that an exit code counts once its newline is written, or is in the name of an empty file.
func TestIncompleteFile(t *testing.T) {
	const none = -1
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int
	}{
		{"no file", nil, none},
		{"created", map[string]string{"id.exit": ""}, none},
		{"partly written", map[string]string{"id.exit": "1"}, none},
		{"complete", map[string]string{"id.exit": "137\n"}, 137},
		{"no number", map[string]string{"id.exit": "x\n"}, none},
		{"full disk", map[string]string{"id.exit": "", "id.exit.7": ""}, 7},
		{"no inodes", map[string]string{"id.exit.7": "text of the spare file"}, 7},
		{"another command", map[string]string{"other.exit": "7\n", "other.exit.7": ""}, none},
	} {
		dir := t.TempDir()
		for name, text := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, ok := (&files{done: filepath.Join(dir, "id")}).exited()
		if !ok {
			got = none
		}
		if got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

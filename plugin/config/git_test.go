// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitRemotes reads remotes: a project's replaces the global one of its name.
func TestGitRemotes(t *testing.T) {
	for _, tt := range []struct{ name, global, project, workspace, want, problem string }{
		{"both", "git: {remotes: {origin: /a, up: /b}, max_pack: 1MiB}", "git: {remotes: {origin: 'git@host:r'}}", "", "origin=git@host:r up=/b", ""},
		{"none", "", "", "", "", ""},
		{"a bad URL", "git: {remotes: {origin: 'ext::sh -c x'}}", "", "", "", "git: remotes: origin: a URL has"},
		{"a password", "git: {remotes: {origin: 'https://a:b@host/r'}}", "", "", "", "credential helpers"},
		{"a bad name", "git: {remotes: {-x: /a}}", "", "", "", "not the name of a remote"},
		{"a workspace's", "", "", "git: {remotes: {origin: /evil}}", "", ""}, // not trusted
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, work := t.TempDir(), filepath.Join(t.TempDir(), "app")
			if err := os.MkdirAll(filepath.Join(store, "projects"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(work, 0o755); err != nil {
				t.Fatal(err)
			}
			for at, text := range map[string]string{filepath.Join(store, "config.yaml"): tt.global, filepath.Join(store, "projects", "app.yaml"): tt.project, filepath.Join(work, ".hostexec.yaml"): tt.workspace} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(at, []byte("version: 1\n"+text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := Load(Source{Store: store, Project: work, Workspace: work})
			if tt.problem != "" {
				if c.Err == nil || !strings.Contains(c.Err.Error(), tt.problem) {
					t.Errorf("the error is %v, want %q", c.Err, tt.problem)
				}
				return
			}
			var got []string
			for _, name := range []string{"origin", "up"} {
				if url, ok := c.Git.Remotes[name]; ok {
					got = append(got, name+"="+url)
				}
			}
			if s := strings.Join(got, " "); s != tt.want || c.Err != nil {
				t.Errorf("the remotes are %q, want %q; %v", s, tt.want, c.Err)
			}
		})
	}
}

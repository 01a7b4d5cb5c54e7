// SPDX-License-Identifier: Apache-2.0

package call

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestExposed starts another session while a question waits. The question is asked again if that session's container
// can write what the question counts as safe.
func TestExposed(t *testing.T) {
	for name, tt := range map[string]struct {
		written string // by the other session's container, below base
		place   policy.Place
		want    bool
	}{
		"nothing of it":          {"elsewhere", policy.Place{}, false},
		"the program":            {"tools", policy.Place{}, true},
		"a directory of PATH":    {"bin", policy.Place{}, true},
		"the file of a variable": {"etc", policy.Place{}, true},
		"the repository's .git":  {"work/.git", policy.Place{}, true},
		"in a container":         {"tools", policy.Place{Image: "alpine"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []string{"elsewhere", "tools", "bin", "etc", "work/.git"} {
				if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range map[string]string{"tools/gh": "#!/bin/sh\n", "etc/env": ""} {
				if err := os.WriteFile(filepath.Join(base, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			mounts := []mount.Point{
				{Target: "/w", Source: filepath.Join(base, "work"), Bind: true},
				{Target: "/w/.git", Source: filepath.Join(base, "work/.git"), Bind: true, ReadOnly: true},
			}
			dirs, err := mount.NewTable(mounts, mount.Default{})
			if err != nil {
				t.Fatal(err)
			}
			defer dirs.Close()
			environ := []string{"PATH=" + filepath.Join(base, "bin") + ":/usr/bin", "BASH_ENV=" + filepath.Join(base, "etc/env")}
			p := &policy.Policy{}
			configure := func() *SessionConfig {
				sc := &SessionConfig{Policy: p, Dirs: dirs}
				sc.Environ, _ = hostcode.Environ(environ, dirs)
				return sc
			}
			s := &Server{}
			s.SetConfig(configure())
			cwd, err := dir.Open(filepath.Join(base, "work"))
			if err != nil {
				t.Fatal(err)
			}
			defer cwd.Close()
			req := &request{Request: policy.Request{Args: []string{"gh", "pr"}, Cwd: "/w", GitDirReadOnly: dirs.ReadOnly(cwd, "/w", ".git")}}
			if !req.GitDirReadOnly {
				t.Fatal("the container can write .git")
			}
			v := policy.Verdict{Action: policy.Ask, Place: tt.place, Command: policy.Command{Name: "gh", Path: filepath.Join(base, "tools/gh")}}
			dc := &decidedCall{config: s.Config(), cwd: cwd, v: v, decided: &v}
			x := asking{exchange: &exchange{server: s, req: req}, dc: dc}
			s.SetConfig(configure())
			if x.verdictChanged(s.Config()) {
				t.Error("without another session: it is asked again")
			}
			dirs.SetOthers([]string{filepath.Join(base, tt.written)})
			s.SetConfig(configure())
			if got := x.verdictChanged(s.Config()); got != tt.want {
				t.Errorf("verdictChanged = %v, want %v", got, tt.want)
			}
		})
	}
}

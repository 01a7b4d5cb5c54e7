// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlan(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(dir, "bin/make"), 0o755)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	o := runOptions{proxies: []string{"make"}, workspace: "link", workdirHost: ".", passEnv: []string{"CI"}, carrier: "auto", newPrivs: true}
	p, err := o.plan("img", true)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "real"); p.workspace != want {
		t.Errorf("workspace = %q, want %q", p.workspace, want)
	}
	rec := p.rec
	if rec.WorkdirHost != dir || rec.InvokedIn != dir || rec.Image != "img" || rec.Carrier != "auto" || !rec.NewPrivs ||
		len(rec.PassEnv) != 1 || rec.Commands[0].Path != filepath.Join(dir, "bin/make") || !p.keepDir {
		t.Errorf("plan = %+v", p)
	}
}

func TestPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		opts runOptions
		want string
	}{
		{runOptions{carrier: "auto", proxies: []string{"../x"}}, "--proxy ../x"},
		{runOptions{carrier: "auto", proxies: []string{"foo"}}, "command 'foo' not found in PATH"},
		{runOptions{carrier: "pigeon"}, "--carrier pigeon"},
		{runOptions{carrier: "auto", passEnv: []string{"A=1"}}, "--pass-env A=1"},
		{runOptions{carrier: "auto", workspace: "missing"}, "--workspace"},
		{runOptions{carrier: "auto", workspace: "file"}, "not a directory"},
		{runOptions{carrier: "auto", workdirHost: "missing"}, "--workdir-host"},
	} {
		if _, err := tt.opts.plan("img", false); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("plan(%+v) = %v, want an error with %q", tt.opts, err, tt.want)
		}
	}
}

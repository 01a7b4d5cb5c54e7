// SPDX-License-Identifier: Apache-2.0

package launch

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
	o := Options{Proxies: []string{"make"}, Workspace: "link", WorkdirHost: ".", PassEnv: []string{"CI"}, Carrier: "auto", NewPrivs: true}
	p, err := o.Plan("img", true)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "real"); p.Workspace != want {
		t.Errorf("workspace = %q, want %q", p.Workspace, want)
	}
	rec := p.Record
	if rec.WorkdirHost != dir || rec.InvokedIn != dir || rec.Image != "img" || rec.Carrier != "auto" || !rec.NewPrivs ||
		len(rec.PassEnv) != 1 || rec.Commands[0].Path != filepath.Join(dir, "bin/make") || !p.HasWorkdir {
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
		opts Options
		want string
	}{
		{Options{Carrier: "auto", Proxies: []string{"../x"}}, "--proxy ../x"},
		{Options{Carrier: "auto", Proxies: []string{"foo"}}, "command 'foo' not found in PATH"},
		{Options{Carrier: "pigeon"}, "--carrier pigeon"},
		{Options{Carrier: "auto", PassEnv: []string{"A=1"}}, "--pass-env A=1"},
		{Options{Carrier: "auto", Workspace: "missing"}, "--workspace"},
		{Options{Carrier: "auto", Workspace: "file"}, "not a directory"},
		{Options{Carrier: "auto", WorkdirHost: "missing"}, "--workdir-host"},
	} {
		if _, err := tt.opts.Plan("img", false); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("plan(%+v) = %v, want an error with %q", tt.opts, err, tt.want)
		}
	}
}

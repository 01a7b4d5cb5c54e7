// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/cli/cli/command/formatter"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

// All that policy ls shows, and policy explain, says where it stands.
func TestPolicyWhere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(`approval:
  auto_approve: ['^a$']
  manual_approve: ['^b$']
proxies:
  - make=ask
commands: {c: {rules: [{id: r, do: deny, argv: []}]}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Load(config.Source{Store: dir})
	var got []string
	for _, r := range policyRows(c) {
		got = append(got, r.Rule+" "+strings.TrimPrefix(r.Where, file))
	}
	if want := []string{"c/r :6", "auto_approve :2", "manual_approve :3", "--proxy :5"}; !slices.Equal(got, want) {
		t.Errorf("policy ls shows %q, want %q", got, want)
	}
	p, err := inDirectory(c)
	if err != nil {
		t.Fatal(err)
	}
	_, results := p.Explain(policy.Request{Args: []string{"make"}})
	if last := results[len(results)-1]; last.Position != file+":5" || !last.Decides {
		t.Errorf("policy explain: %+v", last)
	}
}

// Where what is let through runs, and whether jobs of it may be kept.
func TestPolicyRuns(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(`approval: {auto_approve: ['^a$']}
proxies: [make, 'npm,keep', 'go,where=container:golang:1.26', c=deny, ash]
commands:
  ash: {where: 'container:busybox', keep: true, container: {docker_host: 'unix:///run/other.sock'}}
  c:
    where: container:an-image-with-a-name-that-is-long:latest
    exec: /bin/c
    rules:
      - {id: one, do: allow, argv: [x], keep: true}
      - {id: two, do: deny, argv: [y]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Load(config.Source{Store: dir})
	var out strings.Builder
	f := formatter.Context{Output: &out, Format: "{{.Rule}} {{.Runs}} {{.Image}} {{.DockerHost}} {{.Keep}}", Trunc: true}
	if err := writePolicy(f, policyRows(c)); err != nil {
		t.Fatal(err)
	}
	want := `c/one container:an-image-with-a-n...,keep an-image-with-a-name-that-is-long:latest  true
c/two -   false
auto_approve -   false
--proxy host   false
--proxy host,keep   true
--proxy container:golang:1.26 golang:1.26  false
--proxy -   false
--proxy container:busybox,keep busybox unix:///run/other.sock true
`
	if out.String() != want {
		t.Errorf("policy ls shows\n%swant\n%s", out.String(), want)
	}
	full := policyRows(c)
	if got, want := full[len(full)-1].Runs, "container:busybox,docker_host=unix:///run/other.sock,keep"; got != want {
		t.Errorf("with --no-trunc it is %q, want %q", got, want)
	}
}

func TestExpiryTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.Local)
	for _, tt := range []struct {
		t    time.Time
		want string
	}{{now.Add(time.Hour), "16:04:05"}, {now.AddDate(0, 0, 1), "2026-01-03 15:04:05"}, {now.AddDate(1, 0, 0), "2027-01-02 15:04:05"}} {
		if got := timeOfDay(tt.t, now); got != tt.want {
			t.Errorf("clock(%s) = %s, want %s", tt.t, got, tt.want)
		}
	}
}

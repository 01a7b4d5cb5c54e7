// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cookbookRecipes returns the configurations in docs/cookbook.md, by the names of their commands.
func cookbookRecipes(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```\n").FindAllStringSubmatch(string(readFile(t, "../docs/cookbook.md")), -1) {
		name := regexp.MustCompile(`commands:\n  ([a-z-]+):\n`).FindStringSubmatch(m[1])
		if name == nil || all[name[1]] != "" {
			t.Fatalf("docs/cookbook.md has a recipe without a name of its own: %s", m[1])
		}
		all[name[1]] = m[1]
	}
	return all
}

// cookbookCalls are calls of each recipe: without a question, only after one, or not at all.
var cookbookCalls = map[string]struct{ run, asked, refused []string }{
	"kubectl":     {[]string{"get pods -n shop"}, []string{"rollout restart deployment/web"}, []string{"get secrets", "exec web-1 sh"}},
	"aws":         {[]string{"sts get-caller-identity", "s3 ls s3://my-bucket/x/"}, nil, []string{"s3 ls s3://other/", "s3 ls"}},
	"npm":         {nil, []string{"publish app-1.0.0.tgz"}, []string{"publish", "publish app-1.0.0.tgz --registry=https://x.example"}},
	"docker":      {[]string{"ps"}, []string{"compose up -d", "logs app-web-1"}, []string{"run evil", "compose -f evil.yml up -d"}},
	"cargo":       {[]string{"build --release"}, nil, []string{"install evil", "build --config build.rustc=/x"}},
	"wl-paste":    {nil, []string{"-t image/png"}, []string{"-t text/plain", "--watch sh"}},
	"notify-send": {[]string{"Done 'all tests'"}, nil, []string{"'<b>x</b>'", "-i /etc/passwd x"}},
	"gpg":         {nil, []string{"--status-fd=2 -bsau 0123456789ABCDEF"}, []string{"--export-secret-keys", "-d x"}},
}

// TestIntegrationCookbook checks each recipe of docs/cookbook.md, and makes calls from a container with it.
func TestIntegrationCookbook(t *testing.T) {
	t.Parallel() // most of it is waiting
	all := cookbookRecipes(t)
	if len(all) != len(cookbookCalls) {
		t.Errorf("docs/cookbook.md has %d recipes, want %d", len(all), len(cookbookCalls))
	}
	for name, recipe := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, false)
			bin := filepath.Join(h.Home, ".cargo", "bin")
			h.mkdir(t, bin)
			if name != "docker" { // this host has it, and the test itself needs it
				h.Write(t, bin, name, "#!/bin/sh\necho ran \"$@\"\n", 0o755)
			}
			if strings.Contains(recipe, "where: sandbox") {
				if !sandboxed(t, h) {
					return
				}
				recipe = strings.Replace(recipe, "sandbox: {creds", "sandbox: {read: [~/.cargo/bin], creds", 1) // the program of this test
			}
			h.Write(t, h.Work, "app-1.0.0.tgz", "a package\n", 0o600)
			h.Write(t, h.State, "config.yaml", recipe, 0o600)
			h.Env = append(h.Env, "PATH="+bin+":"+os.Getenv("PATH"))
			if r := h.feed(t, "", "sh", "-c", "docker hostexec policy check && docker hostexec policy test"); r.Code != 0 || !strings.Contains(r.Out+r.Err, "pass") {
				t.Fatalf("policy check and test: %v", r)
			}
			c := h.Holding(t, "--proxy", name)
			for verdict, calls := range map[string][]string{"0": cookbookCalls[name].run, "asked": cookbookCalls[name].asked, "126": cookbookCalls[name].refused} {
				for _, args := range calls {
					c.cook(t, name, args, verdict)
				}
			}
		})
	}
}

// cook makes one call, while nobody can be asked.
func (c *Container) cook(t *testing.T, name, args, verdict string) {
	t.Helper()
	r := c.Sh(t, name+" "+args)
	asked := strings.Contains(r.Err, "nobody is there to ask")
	switch {
	case verdict == "0" && (r.Code != 0 || !strings.HasPrefix(r.Out, "ran ") && name != "docker"),
		verdict == "asked" && (r.Code != 126 || !asked),
		verdict == "126" && (r.Code != 126 || asked || !strings.Contains(r.Err, "allow")):
		t.Errorf("%s %s: %v, want %s", name, args, r, verdict)
	}
}

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

// recipe is a section of docs/cookbook.md. Its rules are in the section, or in a preset.
type recipe struct{ rules, preset string }

var (
	recipeRules  = regexp.MustCompile("(?s)```yaml\n(.*?commands:\n  ([a-z-]+):\n.*?)```\n")
	recipePreset = regexp.MustCompile("`docker hostexec policy init --write ([a-z-]+)`")
)

// cookbookRecipes returns the recipes of docs/cookbook.md, by the names of their commands.
func cookbookRecipes(t *testing.T) map[string]recipe {
	t.Helper()
	all := map[string]recipe{}
	for _, section := range strings.Split(string(readFile(t, "../docs/cookbook.md")), "\n## ")[1:] {
		var r recipe
		var name string
		if m := recipeRules.FindStringSubmatch(section); m != nil {
			r.rules, name = m[1], m[2]
		} else if m := recipePreset.FindStringSubmatch(section); m != nil {
			r.preset, name = m[1], m[1]
		}
		if name == "" || all[name] != (recipe{}) {
			t.Fatalf("docs/cookbook.md has a recipe without a name of its own: %s", section)
		}
		for _, part := range []string{"--proxy " + name, "rotects from: "} {
			if !strings.Contains(section, part) {
				t.Errorf("docs/cookbook.md: the recipe for %s lacks %q", name, part)
			}
		}
		all[name] = r
	}
	return all
}

// cookbookCalls lists calls for each recipe: those that run without a question, those that ask, and those that are refused.
var cookbookCalls = map[string]struct{ run, asked, refused []string }{
	"git":         {[]string{"status", "log -n 5"}, []string{"push origin agent/x", "fetch origin"}, []string{"push origin main", "log --output=x", "commit -m x"}},
	"gh":          {[]string{"pr list", "issue view 12"}, []string{"pr create --title x --body-file -"}, []string{"auth token", "api user", "pr list --repo x/y"}},
	"terraform":   {[]string{"version", "fmt -check"}, []string{"init", "plan -out=plan-0123abcd.tfplan", "apply plan-0123abcd.tfplan"}, []string{"apply", "destroy", "plan -var=x=y"}},
	"xdg-open":    {nil, []string{"https://example.com/x"}, []string{"file:///etc/passwd", "vscode://x", "https://you@evil.example"}},
	"kubectl":     {[]string{"get pods -n shop"}, []string{"rollout restart deployment/web"}, []string{"get secrets", "exec web-1 sh"}},
	"aws":         {[]string{"sts get-caller-identity", "s3 ls s3://my-bucket/x/"}, nil, []string{"s3 ls s3://other/", "s3 ls"}},
	"npm":         {nil, []string{"publish app-1.0.0.tgz"}, []string{"publish", "publish app-1.0.0.tgz --registry=https://x.example"}},
	"docker":      {[]string{"ps"}, []string{"compose up -d", "logs app-web-1"}, []string{"run evil", "compose -f evil.yml up -d"}},
	"cargo":       {[]string{"build --release"}, nil, []string{"install evil", "build --config build.rustc=/x"}},
	"wl-paste":    {nil, []string{"-t image/png"}, []string{"-t text/plain", "--watch sh"}},
	"notify-send": {[]string{"Done 'all tests'"}, nil, []string{"'<b>x</b>'", "-i /etc/passwd x"}},
	"gpg":         {nil, []string{"--status-fd=2 -bsau 0123456789ABCDEF"}, []string{"--export-secret-keys", "-d x"}},
}

// ownPrograms are the programs for which the test uses this host's own. For the others it writes scripts.
var ownPrograms = map[string]bool{"docker": true, "git": true}

// TestIntegrationCookbook checks each recipe of docs/cookbook.md, and makes calls from a container with it.
func TestIntegrationCookbook(t *testing.T) {
	t.Parallel() // most of it is waiting
	all := cookbookRecipes(t)
	if len(all) != len(cookbookCalls) {
		t.Errorf("docs/cookbook.md has %d recipes, want %d", len(all), len(cookbookCalls))
	}
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, false)
			bin := filepath.Join(h.Home, ".cargo", "bin")
			h.mkdir(t, bin)
			if !ownPrograms[name] {
				h.Write(t, bin, name, "#!/bin/sh\necho ran \"$@\"\n", 0o755)
			}
			if strings.Contains(r.rules, "where: sandbox") {
				if !sandboxed(t, h) {
					return
				}
				r.rules = strings.Replace(r.rules, "sandbox: {creds", "sandbox: {read: [~/.cargo/bin], creds", 1) // the program of this test
			}
			h.Write(t, h.Work, "app-1.0.0.tgz", "a package\n", 0o600)
			h.Env = append(h.Env, "PATH="+bin+":"+os.Getenv("PATH"))
			if r.preset != "" {
				h.Must(t, "hostexec", "policy", "init", "--write", r.preset)
			} else {
				h.Write(t, h.State, "config.yaml", r.rules, 0o600)
			}
			if r := h.feed(t, "", "sh", "-c", "docker hostexec policy check && docker hostexec policy test"); r.Code != 0 || !strings.Contains(r.Out+r.Err, "pass") {
				t.Fatalf("policy check and test: %v", r)
			}
			flags := []string{"--proxy", name}
			if name == "git" {
				r := h.feed(t, "", "sh", "-ec", "git init -q; git -c user.name=me -c user.email=me@localhost commit -q --allow-empty -m first")
				want(t, "code of git init and commit", r.Code, 0)
				flags = append(flags, "-v", h.Work+"/.git:/w/.git:ro")
			}
			c := h.Holding(t, flags...)
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
	case verdict == "0" && (r.Code != 0 || !strings.HasPrefix(r.Out, "ran ") && !ownPrograms[name]),
		verdict == "asked" && (r.Code != 126 || !asked),
		verdict == "126" && (r.Code != 126 || asked || !strings.Contains(r.Err, "allow")):
		t.Errorf("%s %s: %v, want %s", name, args, r, verdict)
	}
}

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// hostilePaths replace arguments, and are inserted into other arguments.
var hostilePaths = strings.Fields(`
	/ /etc/passwd //etc ~ ~/.ssh ~root/x .. ../x ../../x a/.. a/../b a/../../x d/../../../../home/me/.ssh ./.. ./../x
	.../../x a/b/../../.. a//../../x @/etc/passwd @../x =/x x=/x x=../y --x=/y --x=../y -C.. -C/x -I../x -o/x -o../x
	file:/x file:///etc/passwd file:../x ext::sh HEAD:/x HEAD:../x a,../b a,/b a:../b a:/b \..\x c:/x ${HOME}/x ,..
	https://x/../../y https:/x :/x :../x :(top)/x a../b/../.. main.. ..main main..dev HEAD~1 --no-index --output=x -- -
	agent/x agent/../x main/../../x x/.. 1/.. 1/../../x plan-00000000.tfplan/../x`)

// TestPresetPaths checks that no argument list that a preset allows names a path outside of the workspace. Elements
// that look up the path below the mounts, and commands in a sandbox, are exempt. The lists mix texts that match the
// rules with hostile paths.
//
// Attack 63.
func TestPresetPaths(t *testing.T) {
	for _, preset := range Presets() {
		t.Run(preset.Name, func(t *testing.T) {
			src := Source{Store: t.TempDir()}
			if err := preset.Install(src.GlobalFile()); err != nil {
				t.Fatal(err)
			}
			p := Load(src).Policy(nil)
			g := generator{rand.New(rand.NewPCG(1, 2))}
			for name, set := range p.Rules {
				tries, allowed := 0, 0
				for i := range set.Rules {
					set.Rules[i].Anywhere = true // tests the rules without the path check that Anywhere disables
				}
				for _, r := range set.Rules {
					for range 2000 {
						args := append([]string{name}, g.args(r)...)
						tries++
						v := p.Decide(policy.Request{Args: args, GitDirReadOnly: true})
						if v.Action != policy.Allow {
							continue
						}
						allowed++
						if v.Place.Confined() { // the sandbox refuses the paths that it does not have
							continue
						}
						if bad := outsidePath(v); bad != "" {
							t.Fatalf("%s allows %s: %q names a path outside", v.Rule, policy.CommandLine(args), bad)
						}
					}
				}
				t.Logf("%s: %d of %d argument lists are allowed", name, allowed, tries)
				if allows := slices.ContainsFunc(set.Rules, func(r policy.Rule) bool { return r.Do == policy.Allow }); allows && allowed < tries/100 {
					t.Error("almost no argument list is allowed: the generator does not follow the rules")
				}
			}
		})
	}
}

// outsidePath returns an argument of v that names a path outside of the workspace, or "". Arguments that are
// looked up must follow a --.
func outsidePath(v policy.Verdict) string {
	options := true
	for i, a := range v.Args[1:] {
		looked := slices.ContainsFunc(v.Paths, func(c policy.PathCheck) bool { return c.Index == i+1 })
		switch {
		case a == "--":
			options = false
		case looked && options:
			return a + " before --"
		case !looked && !strings.HasPrefix(a, "core.hooksPath=/dev/null") && outsideOf(a):
			return a
		}
	}
	return ""
}

// outsideOf reports whether a part of a could be a path outside of the workspace.
func outsideOf(a string) bool {
	parts := strings.FieldsFunc(a, func(r rune) bool { return strings.ContainsRune(`=:,;@ '"()`, r) })
	if rest := strings.TrimLeft(a, "-"); rest != a && rest != "" {
		parts = append(parts, rest[1:]) // the value of an option such as -C..
	}
	for _, s := range append(parts, a) {
		clean := path.Clean(strings.ReplaceAll(s, `\`, "/"))
		if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(s, "~") || slices.Contains(strings.Split(s, "/"), "..") {
			return true
		}
	}
	return false
}

// generator makes random argument lists.
type generator struct{ *rand.Rand }

func pick[T any](g generator, list []T) T { return list[g.IntN(len(list))] }

// args returns arguments for r, many of them modified.
func (g generator) args(r policy.Rule) (args []string) {
	for _, e := range r.Argv {
		switch e.Kind {
		case policy.KindWord, policy.KindAny:
			args = append(args, pick(g, e.Words))
		case policy.KindRegexp:
			args = append(args, g.text(e.Pattern))
		case policy.KindArgs:
			for range g.IntN(3) {
				args = append(args, g.text(e.Pattern))
			}
		case policy.KindPath:
			for range max(e.Min, g.IntN(3)) {
				args = append(args, pick(g, []string{"f", "d/f", "/etc/passwd"}))
			}
		case policy.KindOptions:
			args = append(args, g.options(e)...)
		}
	}
	for g.IntN(3) == 0 {
		at := g.IntN(len(args) + 1)
		if at == len(args) || g.IntN(2) == 0 {
			args = slices.Insert(args, at, pick(g, hostilePaths))
		} else {
			args[at] = g.mutant(args[at])
		}
	}
	return args
}

func (g generator) options(e policy.Element) (args []string) {
	for g.IntN(2) == 0 {
		n := g.IntN(len(e.Flags) + len(e.Opts))
		switch {
		case n < len(e.Flags):
			args = append(args, e.Flags[n])
		case g.IntN(2) == 0:
			args = append(args, e.Opts[n-len(e.Flags)].Name, g.text(e.Opts[n-len(e.Flags)].Value))
		default:
			args = append(args, e.Opts[n-len(e.Flags)].Name+"="+g.text(e.Opts[n-len(e.Flags)].Value))
		}
	}
	return args
}

// text returns a text for a pattern: a match, a hostile path, or a mixture.
func (g generator) text(t policy.ArgPattern) string {
	switch g.IntN(4) {
	case 0:
		return pick(g, hostilePaths)
	case 1:
		return g.mutant(g.matching(t))
	}
	return g.matching(t)
}

func (g generator) mutant(s string) string {
	at := g.IntN(len(s) + 1)
	return s[:at] + pick(g, []string{"/..", "../", "..", "/../", "/", "~", "@/", "=/", ":", "\\", "-C..", "./"}) + s[at:]
}

func (g generator) matching(t policy.ArgPattern) string {
	re, err := syntax.Parse(t.Source, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	g.walk(re, &b)
	return b.String()
}

// walk writes a text that matches re. Where re has alternatives, it prefers dots and slashes.
func (g generator) walk(re *syntax.Regexp, b *strings.Builder) {
	low, high := re.Min, re.Max
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("/.~a=-"[g.IntN(6)])
	case syntax.OpCharClass:
		b.WriteRune(g.char(re.Rune))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.walk(sub, b)
		}
	case syntax.OpAlternate:
		g.walk(pick(g, re.Sub), b)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		low, high = 0, 8
		if re.Op == syntax.OpPlus {
			low = 1
		}
		if re.Op == syntax.OpQuest {
			high = 1
		}
		fallthrough
	case syntax.OpRepeat:
		if high < 0 || high > low+8 {
			high = low + 8
		}
		for range low + g.IntN(high-low+1) {
			g.walk(re.Sub[0], b)
		}
	}
}

func (g generator) char(ranges []rune) rune {
	var dangerous []rune
	for _, r := range "./~\\:=@" {
		for i := 0; i < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				dangerous = append(dangerous, r)
			}
		}
	}
	if len(dangerous) > 0 && g.IntN(2) == 0 {
		return pick(g, dangerous)
	}
	i := 2 * g.IntN(len(ranges)/2)
	return min(ranges[i]+rune(g.IntN(int(ranges[i+1]-ranges[i])+1)), '~')
}

// TestPresetGitHasNoIndex runs git diff with the real git and the preset's options. It must not compare
// files outside of a repository, even if there is no repository.
//
// Attack 63.
func TestPresetGitHasNoIndex(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	preset, err := FindPreset("git")
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Store: t.TempDir()}
	if err := preset.Install(src.GlobalFile()); err != nil {
		t.Fatal(err)
	}
	p := Load(src).Policy(nil)
	top := t.TempDir()
	run := func(dir string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = filepath.Join(top, dir)
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+top, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, _ := cmd.CombinedOutput() // the command is expected to fail
		return string(out)
	}
	for _, dir := range []string{"repo/d", "none", "broken/.git"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "repo/a", "repo/d/b", "none/a", "none/b", "broken/a", "broken/b"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte("a secret of "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..", filepath.Join(top, "repo", "up")); err != nil {
		t.Fatal(err)
	}
	if out := run("repo", "init", "-q"); out != "" {
		t.Fatal(out)
	}
	for _, args := range [][]string{{"a", "b"}, {"a", "d"}, {"--", "a", "b"}, {"--stat", "a", "b"}, {"--", "a", top + "/b"}, {"--", top + "/a", top + "/b"}, {"--cached", "--", "a", "up/b"}, {"a", "--", "b"}} {
		v := p.Decide(policy.Request{Args: append([]string{"git", "diff"}, args...), GitDirReadOnly: true})
		if v.Action != policy.Allow {
			t.Errorf("git diff %q: %v, and this test is about what is allowed", args, v.Action)
			continue
		}
		for _, dir := range []string{"repo", "none", "broken"} {
			if out := run(dir, v.Args[1:]...); strings.Contains(out, "secret") || !strings.Contains(out, "fatal: ") && !strings.Contains(out, "error: ") && out != "" {
				t.Errorf("%s: %s: %s", dir, policy.CommandLine(v.Args), out)
			}
		}
	}
}

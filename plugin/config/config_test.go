// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// home returns a Source with a state directory, a project called app, and the given files.
func home(t *testing.T, files map[string]string) Source {
	t.Helper()
	dir := t.TempDir()
	src := Source{Store: filepath.Join(dir, "state"), Project: filepath.Join(dir, "app"), Workspace: filepath.Join(dir, "app")}
	for _, d := range []string{filepath.Join(src.Store, "projects"), src.Project} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return src
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func decide(c *Config, args ...string) policy.Verdict {
	return c.Policy(nil).Decide(policy.Request{Args: args, GitDirReadOnly: true})
}

const globalText = `
version: 1
approval:
  auto_approve: ['^docker compose ps$', {pattern: '^ls$'}]
  manual_approve: ['^docker compose (up|down|restart|build).*$']
  timeout: 90s
  wait: always
hostexec:
  auto_approve: ['^id$', '^ls$']
  durable: yes
audit: {sync: always, per_container: true, redact: ['token=\S+'], rotate: 10MiB, keep: 3}
notify: {command: [/usr/bin/notify, -x], bell: false}
jobs: {disk: 1GiB}
limits: {calls: 50, argv: 16MiB, refusals: 5}
proxies: [make, git=ask]
defaults: {timeout: 1m, env: clean}
commands:
  gh:
    exec: /usr/bin/gh
    env: {pass: [GH_TOKEN], set: {GH_PAGER: cat, N: 1}}
    rules:
      - {id: view, do: allow, argv: [pr, view, {re: '[0-9]{1,7}'}], stdin: capture(64KiB), tty: allow, output: 1KiB, new_privs: true, leave: true, keep: true, record: true, timeout: 0}
      - {do: deny, reason: not that, argv: [auth, token]}
`

const projectText = `
approval:
  auto_approve: ['^id$', '^pwd$']
  timeout: 2m
proxies: [git=deny, make, go]
commands:
  gh:
    rules:
      - {id: view, do: ask, argv: [pr, view]}
      - {id: list, do: allow, argv: [pr, list]}
  new: {rules: [{do: allow, effects: [read], argv: []}]}
`

func TestLoad(t *testing.T) {
	c := Load(home(t, map[string]string{
		"state/config.yaml":       globalText,
		"state/projects/app.yaml": projectText,
	}))
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	if a := c.Approval; a.Timeout != 2*time.Minute || !a.WaitAlways || !a.Durable {
		t.Errorf("approval %+v", a)
	}
	if a := c.Audit; a.Sync != "always" || !a.PerContainer || len(a.Redact) != 1 || a.Rotate != 10<<20 || a.Keep != 3 {
		t.Errorf("audit %+v", a)
	}
	if n := c.Notify; len(n.Command) != 2 || n.Bell == nil || *n.Bell || n.Desktop != nil {
		t.Errorf("notify %+v", n)
	}
	if c.Jobs != (Jobs{Disk: 1 << 30}) {
		t.Errorf("jobs %+v", c.Jobs)
	}
	if l := c.Limits; l.Limits != (limit.Limits{limit.Calls: 50, limit.Argv: 16 << 20}) || l.Refusals != 5 {
		t.Errorf("limits %+v", l)
	}
	if got, want := proxies(c), []string{"make app.yaml:5", "git=deny app.yaml:5", "go app.yaml:5"}; !slices.Equal(got, want) {
		t.Errorf("proxies %q, want %q", got, want)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "approval and hostexec are the same section") {
		t.Errorf("warnings %q", c.Warnings)
	}
	var auto []string
	for _, p := range c.auto {
		auto = append(auto, p.Source)
	}
	if want := []string{"^docker compose ps$", "^ls$", "^id$", "^pwd$"}; !slices.Equal(auto, want) {
		t.Errorf("auto_approve %q, want %q", auto, want)
	}
	for args, want := range map[string]string{
		"docker compose ps": "allow auto_approve ^docker compose ps$", "docker compose up -d": "ask manual_approve ^docker compose (up|down|restart|build).*$",
		"rm -rf /": "deny ", "pwd": "allow auto_approve ^pwd$", "gh pr view": "ask gh/view", "gh pr view 1": "deny ", "gh pr list": "allow gh/list",
		"gh auth token": "deny gh/#2", "new": "allow new/project#1", "new x": "deny ",
	} {
		v := decide(c, strings.Split(args, " ")...)
		if got := v.Action.String() + " " + v.Rule; got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	v := decide(c, "gh", "pr", "list")
	if v.Command.Path != "/usr/bin/gh" || !v.Env.Clean || v.Env.Set["N"] != "1" || v.Timeout != time.Minute || v.Streams.Output != policy.DefaultOutput {
		t.Errorf("gh pr list runs as %+v", v)
	}
	if v := decide(c, "gh", "auth", "token"); v.Reason != "not that" {
		t.Errorf("reason %q", v.Reason)
	}
}

// proxies returns c's proxies, each with the base name and line of its origin.
func proxies(c *Config) (all []string) {
	for _, p := range c.Proxies {
		all = append(all, p.Value+" "+filepath.Base(p.Position))
	}
	return all
}

// broken lists texts that break a file, with the expected error.
var broken = []struct{ name, text, want string }{
	{"not yaml", "a: [", ":1: "},
	{"not UTF-8", "version: 1\n# caf\xe9", ":2: not UTF-8"},
	{"a control character", "version: 1\n\n# \x1b[2J", ":3: control characters are not allowed"},
	{"no mapping", "- a", ":1: the file: keys and values wanted"},
	{"unknown key", "version: 1\nbogus: 1", `:2: unknown key bogus in the file`},
	{"duplicate key of a section with two names", "approval: {timeout: 1m}\nhostexec: {timeout: 2m}", `:2: duplicate key timeout in hostexec: approval and hostexec are the same section`},
	{"redaction of nothing", "audit:\n  redact: ['x*']", `:2: redact: x* matches the empty text`},
	{"unknown key in a section", "approval:\n  auto: []", `:2: unknown key auto in approval`},
	{"unknown key in a rule", "commands:\n x:\n  rules:\n  - {do: allow, argv: [], allow: x}", `:4: unknown key allow in rule`},
	{"duplicate key", "version: 1\napproval: {}\napproval: {}", `:3: duplicate key approval in the file: see line 2`},
	{"duplicate command", "commands:\n  x: {}\n  x: {}", `:3: duplicate key x in commands`},
	{"duplicate rule", "commands:\n  x:\n    rules:\n    - {id: a, do: ask, argv: []}\n    - {id: a, do: ask, argv: []}", ":5: there is a rule a already"},
	{"newer version", "version: 2", `:1: version 2`},
	{"anchor", "proxies: &a [make]", ":1: anchors and aliases"},
	{"alias", "proxies: *a", ":1: "},
	{"tag", "proxies: !!binary bWFrZQ==", ":1: tags"},
	{"merge key", "commands:\n  x:\n    <<: {exec: /x}", `unknown key <<`},
	{"two documents", "version: 1\n---\nversion: 1", "more than one document"},
	{"timeout", "approval: {timeout: soon}", `soon is not a duration`},
	{"no timeout", "approval: {timeout: 0s}", "must be longer than 0s"},
	{"wait", "approval: {wait: never}", "none of always"},
	{"list", "approval: {auto_approve: ls}", `auto_approve: a list wanted: write ["ls"]`},
	{"list, keys", "approval: {auto_approve: {a: b}}", "auto_approve: a list wanted, as in [a, b]"},
	{"pattern without one", "approval: {auto_approve: [{anywhere: true}]}", "pattern is missing"},
	{"anywhere", "commands: {x: {rules: [{do: ask, argv: [], anywhere: maybe}]}}", `anywhere: maybe is neither true nor false`},
	{"anywhere, a list", "commands: {x: {rules: [{do: ask, argv: [], anywhere: [true]}]}}", "anywhere: one value wanted, and not a list"},
	{"anywhere, nothing", "commands: {x: {rules: [{do: ask, argv: [], anywhere: }]}}", "anywhere: the value is missing"},
	{"snapshot", "commands: {x: {rules: [{do: ask, argv: [{path: ws, snapshot: some}]}]}}", `snapshot: some is neither true nor false`},
	{"snapshot, keys", "commands: {x: {rules: [{do: ask, argv: [{path: ws, snapshot: {a: b}}]}]}}", "snapshot: one value wanted, and not keys and values"},
	{"effects, a word", "commands: {x: {rules: [{do: ask, argv: [], effects: read}]}}", `effects: a list wanted: write ["read"]`},
	{"pattern", "approval: {auto_approve: [{patern: x}]}", `unknown key patern`},
	{"name", "commands: {../x: {}}", "cannot be the name of a command"},
	{"our name", "commands: {hostexec: {}}", "cannot be the name of a command"},
	{"relative exec", "commands: {x: {exec: bin/x}}", "not an absolute path"},
	{"sha256", "commands: {x: {exec: /x, sha256: ab}}", "64 hex digits"},
	{"place", "commands: {x: {where: checkout}}", "not supported yet"},
	{"place without an image", "commands: {x: {where: 'container:'}}", "no image named"},
	{"place that is an option", "commands: {x: {where: 'container:-v'}}", "cannot be the name of an image"},
	{"no place", "commands: {x: {where: moon}}", "none of host, sandbox and container:IMAGE"},
	{"limits of the host", "commands: {x: {container: {pids: 3}}}", "x runs on the host"},
	{"no limit", "commands: {x: {where: 'container:a', container: {pids: many}}}", "not a number of processes"},
	{"no engine", "commands: {x: {where: 'container:a', container: {docker_host: nas}}}", "docker_host: nas is not an engine's address"},
	{"place of shells", "commands: {shell: {where: container:img}}", "shell takes neither"},
	{"limits of shells", "commands: {shell: {container: {pids: 3}}}", "shell takes neither"},
	{"engine of the host", "commands: {x: {container: {docker_host: 'unix:///e'}}}", "x runs on the host"},
	{"network of the host's", "commands: {x: {where: 'container:a', container: {network: host}}}", "network: with network host"},
	{"unknown limit", "commands: {x: {where: 'container:a', container: {privileged: true}}}", "privileged"},
	{"digest in a container", "commands: {x: {where: 'container:a', exec: /bin/x, sha256: 0000000000000000000000000000000000000000000000000000000000000000}}", "pin the image by its digest"},
	{"gitdir", "commands: {x: {gitdir: /x}}", "none of host, ro-mount"},
	{"no do", "commands: {x: {rules: [{argv: []}]}}", "no do"},
	{"do", "commands: {x: {rules: [{do: yes, argv: []}]}}", "do: must be allow, ask or deny: yes"},
	{"no argv", "commands: {x: {rules: [{do: allow}]}}", "neither argv nor fixed"},
	{"element", "commands: {x: {rules: [{do: allow, argv: [{glob: x}]}]}}", `unknown key glob`},
	{"null element", "commands: {x: {rules: [{do: allow, argv: [~]}]}}", "argv: a word"},
	{"re", "commands: {x: {rules: [{do: allow, argv: [{re: '('}]}]}}", "missing closing"},
	{"re breaks out", "commands: {x: {rules: [{do: allow, argv: [{re: 'a)|(b'}]}]}}", "unexpected )"},
	{"re with flags", "commands: {x: {rules: [{do: allow, argv: [{re: '(?s).'}]}]}}", "flags"},
	{"option", "commands: {x: {rules: [{do: allow, argv: [{flags: [x]}]}]}}", "not an option"},
	{"option twice", "commands: {x: {rules: [{do: allow, argv: [{flags: [-x]}, {opts: {-x: a}}]}]}}", "given twice"},
	{"range", "commands: {x: {rules: [{do: allow, argv: [{args: a, min: 2, max: 1}]}]}}", "min 2, max 1"},
	{"snapshot", "commands: {x: {rules: [{do: allow, argv: [{path: ws, type: dir, snapshot: true}]}]}}", "snapshot takes files"},
	{"stdin", "commands: {x: {stdin: tty}}", "none of none, pipe, capture"},
	{"capture", "commands: {x: {stdin: capture(1GiB)}}", "at most 1MiB"},
	{"variable", "commands: {x: {env: {set: {A=B: x}}}}", "cannot be the name of a variable"},
	{"our variable", "commands: {x: {env: {pass: [HOSTEXEC_HOME]}}}", "cannot be the name of a variable"},
	{"effects", "commands: {x: {rules: [{do: ask, argv: [], effects: [magic]}]}}", "none of read, write"},
	{"accept", "commands: {x: {rules: [{do: ask, argv: [], accept: all}]}}", "none of host-code-execution"},
	{"reason", "commands: {x: {rules: [{do: deny, argv: [], reason: \"a\\e[2J\"}]}}", "printable ASCII"},
	{"no preview", "commands: {x: {rules: [{do: ask, argv: [], preview: []}]}}", ":1: preview: there are no arguments"},
	{"one word", "commands: {x: {rules: [{do: ask, argv: [], preview: -n}]}}", "preview"},
	{"empty argument", "commands: {x: {rules: [{do: ask, argv: [], preview: ['']}]}}", "1 to 200 printable"},
	{"argument with escapes", "commands: {x: {rules: [{do: ask, argv: [], preview: [\"-n\\e[2J\"]}]}}", "1 to 200 printable"},
	{"preview of a denial", "commands: {x: {rules: [{do: deny, argv: [], preview: [-n]}]}}", "a preview is for a question"},
	{"preview in a container", "commands: {x: {where: 'container:a', rules: [{do: ask, argv: [], preview: [-n]}]}}", "rule #1: preview is only for programs on the host, not for where: container"},
	{"preview of shells", "commands: {shell: {rules: [{id: a, do: ask, fixed: [x], preview: [-n]}]}}", "rule a: preview is only for programs"},
	{"own test", "commands: {x: {rules: [{do: allow, argv: [a], test: {yes: [[b]]}}]}}", "its own test fails"},
	{"proxies", "proxies: [--rm]", ":1: proxies: --rm: the name of a command has"},
	{"proxy of no form", "proxies:\n- make=maybe", ":2: proxies: make=maybe: must be allow, ask, deny or an absolute path: maybe"},
	{"element of nothing", "commands: {a: {rules: [{do: ask, argv: [{}]}]}}", "an element with nothing in it"},
	{"proxy twice", "proxies: [make, make=ask]", "proxies: make=ask: given twice"},
	{"notify", "notify: {command: [notify]}", "not an absolute path"},
	{"no calls at all", "limits: {calls: 0}", "0 does not mean unlimited"},
	{"fewer calls", "limits: {calls: -1}", "is not a number"},
	{"calls that are no number", "limits: {processes: 1KiB}", "is not a number"},
	{"no memory", "limits: {argv: 0}", "0 does not mean unlimited"},
	{"another limit", "limits: {cpus: 1}", "unknown key"},
	{"jobs of no size", "jobs: {disk: 0}", "0 does not mean unlimited"},
	{"jobs of less", "jobs: {output: -1}", "is not a size"},
	{"project in config.yaml", "project: /x", `unknown key project`},
	{"too large", strings.Repeat("#", maxFile+1), "at most"},
}

// TestBroken checks that a broken configuration allows nothing.
//
// Attacks 69, 188, 205.
func TestBroken(t *testing.T) {
	for _, tt := range broken {
		t.Run(tt.name, func(t *testing.T) {
			src := home(t, map[string]string{"state/config.yaml": tt.text})
			c := Load(src)
			if c.Err == nil || !strings.Contains(c.Err.Error(), tt.want) || !strings.HasPrefix(c.Err.Error(), src.GlobalFile()) {
				t.Fatalf("Err = %v, want %q", c.Err, tt.want)
			}
			p := c.Policy([]policy.Command{{Name: "x", Action: policy.Allow, Explicit: true, Path: "/x"}})
			if v := p.Decide(policy.Request{Args: []string{"x"}}); v.Action != policy.Deny {
				t.Errorf("broken, and --proxy x=allow allows")
			}
			if all := Check(src); !slices.ContainsFunc(all, func(p policy.Problem) bool { return p.Fatal && strings.Contains(p.String(), tt.want) }) {
				t.Errorf("Check = %v", all)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "version: 1", "commands:\napproval:\n", "---\n"} {
		src := home(t, map[string]string{"state/config.yaml": text})
		if c := Load(src); c.Err != nil || len(c.Warnings) > 0 {
			t.Errorf("%q: %v %q", text, c.Err, c.Warnings)
		}
	}
	if c := Load(Source{Store: t.TempDir()}); c.Err != nil || decide(c, "ls").Action != policy.Deny {
		t.Errorf("no files: %v", c.Err)
	}
}

// TestBadPattern checks that an invalid pattern is ignored and that Check reports it.
func TestBadPattern(t *testing.T) {
	src := home(t, map[string]string{"state/config.yaml": "approval:\n  auto_approve:\n  - '('\n  - '^ls$'\n"})
	c := Load(src)
	if c.Err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], ":3: approval.auto_approve: '(': ") {
		t.Errorf("%v %q", c.Err, c.Warnings)
	}
	if decide(c, "ls").Action != policy.Allow {
		t.Error("the valid pattern was dropped with the invalid one")
	}
	if all := Check(src); len(all) != 1 || !all[0].Fatal {
		t.Errorf("Check = %v", all)
	}
}

func TestProject(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/u/app": "app", "/home/u/my app": "my-app", "/": "", "": "", "/x/.hidden": "hidden", "/x/..": "", "/x/é": "", "/x/a\nb": "a-b",
		"/x/" + strings.Repeat("a", 100): strings.Repeat("a", 64),
	} {
		if got := ProjectName(dir); got != want {
			t.Errorf("ProjectName(%q) = %q, want %q", dir, got, want)
		}
	}
	src := home(t, map[string]string{"state/projects/app.yaml": "project: /other/app\napproval: {auto_approve: ['^ls$']}"})
	if c := Load(src); c.Err != nil || decide(c, "ls").Action != policy.Deny || len(c.Warnings) != 1 {
		t.Errorf("another directory's file is used: %v %q", c.Err, c.Warnings)
	}
}

// TestProjectStaysConfined checks that a project's entry of proxies moves no confined command to the host.
func TestProjectStaysConfined(t *testing.T) {
	for _, tt := range []struct {
		global, project string
		refused         bool
	}{
		{"commands: {go: {where: sandbox}}", "proxies: ['go,where=host']", true},
		{"commands: {go: {where: 'container:golang'}}", "proxies: ['go=allow,where=host']", true},
		{"proxies: ['go,where=sandbox']", "proxies: [go]", true},
		{"proxies: ['go,where=sandbox']", "proxies: ['go=ask,where=host']", true},
		{"commands: {go: {where: sandbox}}", "services: {web: {proxies: ['go,where=host']}}", true},
		{"commands: {go: {where: sandbox}}", "proxies: [go=ask]", false},
		{"commands: {go: {where: sandbox}}", "proxies: ['go,where=container:golang']", false},
		{"proxies: ['go,where=sandbox']\ncommands: {go: {where: sandbox}}", "proxies: [go]", false},
		{"proxies: ['go,where=host']\ncommands: {go: {where: sandbox}}", "proxies: ['go=ask,where=host']", false}, // it was moved before
		{"proxies: [go]", "proxies: ['go,where=host']", false},
	} {
		c := Load(home(t, map[string]string{"state/config.yaml": tt.global, "state/projects/app.yaml": tt.project}))
		if refused := c.Err != nil; refused != tt.refused || refused && !strings.Contains(c.Err.Error(), "would run on the host") {
			t.Errorf("%s, and in the project %s: %v", tt.global, tt.project, c.Err)
		}
	}
}

// Attack 69.
func FuzzParse(f *testing.F) {
	for _, p := range Presets() {
		f.Add([]byte(p.Text))
	}
	f.Add([]byte("commands: {x: {rules: [{do: allow, argv: [a, {re: b}, {args: c, max: 2}, {path: ws}], fixed: [x]}]}}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, r := range []role{global, project, workspace} {
			d := parse("f", text, r)
			c := &Config{rules: map[string]policy.Ruleset{}}
			c.add(d, Source{})
			if len(d.problems) > 0 {
				continue
			}
			p := c.Policy(nil)
			for _, name := range p.Names() {
				req := policy.Request{Args: []string{name, "a", "-b"}}
				p.Explain(req)
				if set, ruled := p.Rules[name]; ruled && len(set.Rules) == 0 && p.Decide(req).Action != policy.Deny {
					t.Errorf("%q is allowed without a rule", name)
				}
				if !policy.ValidName(name) {
					t.Errorf("the name %q is accepted", name)
				}
			}
			p.Lint()
		}
	})
}

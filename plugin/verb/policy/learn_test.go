// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// diary is an audit log of a session in the project app, which is the current directory.
type diary struct {
	t   *testing.T
	log *audit.Log
	n   int
}

// newDiary makes a state directory with the log, and a configuration that asks about some commands.
func newDiary(t *testing.T, config string) *diary {
	t.Helper()
	home, app := t.TempDir(), filepath.Join(t.TempDir(), "app")
	t.Setenv("HOSTEXEC_HOME", home)
	if err := errors.Join(os.Mkdir(app, 0o700), os.Chmod(home, 0o700), os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(app)
	d := &diary{t: t}
	d.of("app")
	return d
}

// of continues with a session of another project.
func (d *diary) of(project string) {
	d.t.Helper()
	d.n++
	l, err := audit.Open(d.path(), audit.SessionInfo{Project: project, Session: fmt.Sprintf("%012x", d.n)}, audit.Options{})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { l.Close() })
	d.log = l
}

func (d *diary) path() string { return filepath.Join(os.Getenv("HOSTEXEC_HOME"), "audit.log") }

// write adds a record of the call in line, whose words are separated by single spaces.
func (d *diary) write(r audit.Record, line string) {
	d.t.Helper()
	r.Args, r.Request = strings.Split(line, " "), fmt.Sprintf("%016x", d.n)
	if r.Rule == "" {
		r.Rule = "--proxy " + r.Args[0] + "=ask"
	}
	if err := d.log.Write(r); err != nil {
		d.t.Fatal(err)
	}
}

func (d *diary) approved(lines ...string) {
	d.t.Helper()
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		d.write(audit.Record{Kind: audit.Request, Path: "/opt/" + name}, line)
		d.write(audit.Record{Kind: audit.Approve, By: "me"}, line)
	}
}

// learned returns the shapes of the rules that are proposed, and the reasons why others are not.
func (d *diary) learned(o learnOptions) (rules, reasons []string) {
	d.t.Helper()
	l, err := newLearnResult(o)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, r := range l.change.Added {
		rules = append(rules, r.Command+" "+r.Rule.Shape())
	}
	for _, s := range l.skipped {
		reasons = append(reasons, s.Command+": "+s.Reason)
	}
	return rules, reasons
}

var reading = learnOptions{effects: []string{"read"}}

func TestLearnFromLog(t *testing.T) {
	for _, tt := range []struct {
		name           string
		days           func(d *diary)
		options        learnOptions
		rules, reasons []string
	}{
		{"an approval", func(d *diary) { d.approved("deploy a") }, reading, []string{"deploy a"}, nil},
		{"no effects", func(d *diary) { d.approved("deploy a", "ls x") }, learnOptions{}, []string{"ls x"},
			[]string{"deploy: it is not known to be harmless: --effects LIST says what it does"}},
		{"some commands", func(d *diary) { d.approved("deploy a", "ls x") }, learnOptions{commands: map[string]bool{"ls": true}}, []string{"ls x"}, nil},
		{"a grant's approvals", func(d *diary) { d.write(audit.Record{Kind: audit.Approve, By: "grant 00ff: ls <number>"}, "ls 5") }, reading, []string{"ls 5"}, nil},
		{"while unchanged", func(d *diary) { d.write(audit.Record{Kind: audit.Approve, By: "me", Inputs: "00ff"}, "ls x") }, reading, nil, []string{"ls: " + skipUnchanged}},
		{"with variables", func(d *diary) { d.write(audit.Record{Kind: audit.Approve, By: "me", More: true}, "ls x") }, reading, nil, []string{"ls: " + skipMore}},
		{"a grant for paths", func(d *diary) {
			d.write(audit.Record{Kind: audit.Approve, By: "grant 00ff: ls <path below /w>"}, "ls x")
			d.write(audit.Record{Kind: audit.Approve, By: "grant 00ff: make <path below /w>"}, "make x")
			d.write(audit.Record{Kind: audit.Start, Path: "sandbox /usr/bin/make"}, "make x")
		}, reading, []string{"make x (confined)"}, []string{"ls: " + skipPath}},
		{"allowed or unanswered", func(d *diary) {
			d.write(audit.Record{Kind: audit.AutoApprove, Rule: "x/a"}, "ls a")
			d.write(audit.Record{Kind: audit.Timeout}, "ls b")
			d.write(audit.Record{Kind: audit.Deny, Reason: "nobody is there"}, "ls c")
		}, reading, nil, nil},
		{"denied by a person", func(d *diary) {
			d.approved("ls a", "ls b")
			d.of("other")
			d.write(audit.Record{Kind: audit.Deny, By: "me"}, "ls a")
		}, reading, []string{"ls b"}, []string{"ls: " + skipDenied}},
		{"denied by nobody", func(d *diary) {
			d.approved("ls a")
			d.write(audit.Record{Kind: audit.Deny, Reason: "nobody is there"}, "ls a")
		}, reading, []string{"ls a"}, nil},
		{"another project", func(d *diary) { d.of("other"); d.approved("ls a") }, reading, nil, nil},
		{"all projects", func(d *diary) { d.approved("ls b"); d.of("other"); d.approved("ls a") }, learnOptions{all: true}, []string{"ls a|b"}, nil},
		{"an interpreter by another name", func(d *diary) {
			d.write(audit.Record{Kind: audit.Request, Path: "/usr/bin/python3"}, "deploy a")
			d.write(audit.Record{Kind: audit.Approve, By: "me"}, "deploy a")
		}, reading, nil, []string{"deploy: python3 runs what its arguments say"}},
		{"a build tool", func(d *diary) { d.approved("make test") }, reading, nil,
			[]string{"make: it runs code that the container may have written: where: sandbox confines it"}},
		{"a build tool in a sandbox", func(d *diary) {
			d.write(audit.Record{Kind: audit.Request, Path: "sandbox /usr/bin/make"}, "make test")
			d.write(audit.Record{Kind: audit.Approve, By: "me"}, "make test")
		}, reading, []string{"make test (confined)"}, nil},
		{"a redacted argument", func(d *diary) { d.approved("ls x "+strings.Repeat("secret", 200), "ls token=1") }, reading, nil,
			[]string{": " + skipPartial, "ls: " + skipSecret}},
		{"denied or allowed now", func(d *diary) {
			d.approved("never a")
			d.write(audit.Record{Kind: audit.Approve, By: "me", Rule: "manual_approve ^auto"}, "auto a")
		}, reading, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDiary(t, "version: 1\naudit: {redact: ['token=[0-9]+']}\napproval: {auto_approve: ['^auto a$']}\ncommands: {never: {rules: [{id: x, do: deny, argv: [a]}]}}\n")
			tt.days(d)
			rules, reasons := d.learned(tt.options)
			if !slices.Equal(rules, tt.rules) || !slices.Equal(reasons, tt.reasons) {
				t.Errorf("rules %q, reasons %q, want %q, %q", rules, reasons, tt.rules, tt.reasons)
			}
		})
	}
}

// TestLearnUnknownDenials has denied calls whose arguments the log does not have: they are not proposed, and no rule
// matches more than what was approved.
func TestLearnUnknownDenials(t *testing.T) {
	d := newDiary(t, "version: 1\n")
	for i := range 9 {
		d.approved(fmt.Sprintf("seq x %d", 5+i))
	}
	rules, _ := d.learned(reading)
	if want := []string{"seq x /[1-9][0-9]{0,1}/"}; !slices.Equal(rules, want) {
		t.Errorf("rules %q, want %q", rules, want)
	}
	d.write(audit.Record{Kind: audit.Deny, By: "me"}, "ls "+strings.Repeat("x", 2000))
	if rules, _ = d.learned(reading); !slices.Equal(rules, []string{"seq x 10|11|12|13|5|6|7|8|9"}) {
		t.Errorf("with a denied call that is not known: %q", rules)
	}
}

// TestLearnDamagedLog refuses to learn from a log in which a line was removed, or an approval was added.
func TestLearnDamagedLog(t *testing.T) {
	d := newDiary(t, "version: 1\n")
	d.approved("ls a", "ls b")
	text, err := os.ReadFile(d.path())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for what, damaged := range map[string]string{
		"removed": strings.Join(slices.Delete(slices.Clone(lines), 1, 2), ""),
		"altered": strings.ReplaceAll(string(text), `cmd="ls a"`, `cmd="ls c"`),
		"added":   string(text) + strings.ReplaceAll(lines[3], `cmd="ls b"`, `cmd="ls c"`),
	} {
		if err := os.WriteFile(d.path(), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := newLearnResult(reading); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v, want %v", what, err, errDamaged)
		}
	}
	if err := os.WriteFile(d.path(), append(text, `2026-01-31T12:00:00Z HOSTEXEC APPR [torn]`+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if rules, _ := d.learned(reading); !slices.Equal(rules, []string{"ls a|b"}) {
		t.Errorf("with a half line: %q", rules)
	}
}

// TestLearnBounded has more different calls than are remembered. Calls that are not remembered are not proposed, and
// denials that are not remembered forbid each rule that matches more than was approved.
func TestLearnBounded(t *testing.T) {
	store, err := state.OpenAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := newApprovals(newPastLog(store, config.Source{}))
	for i := range maxCalls + 5 {
		a.entry(audit.Entry{Record: audit.Record{Kind: audit.Approve}, Command: fmt.Sprintf("ls %d", i)})
		a.entry(audit.Entry{Record: audit.Record{Kind: audit.Deny, By: "me"}, Command: fmt.Sprintf("ls -l %d", i)})
	}
	if len(a.times) != maxCalls || len(a.denied) != maxCalls || !a.unknown || a.skipped[skipKey{"ls", skipMany}] != 5 {
		t.Errorf("%d approved and %d denied calls, unknown %v, %v", len(a.times), len(a.denied), a.unknown, a.skipped)
	}
	for i := range 2 * maxChanges {
		a.skip(fmt.Sprintf("c%d", i), skipDenied, 1)
	}
	if len(a.skipped) > maxChanges+1 {
		t.Errorf("%d reasons", len(a.skipped))
	}
}

// TestLearnJSON reads what a program gets.
func TestLearnJSON(t *testing.T) {
	d := newDiary(t, "version: 1\n")
	d.approved("ls a", "ls b", "make test")
	l, err := newLearnResult(learnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := l.writeJSON(&out, learnOptions{write: true}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		File    string
		Written bool
		Rules   []struct {
			Rule, Matches string
			Approvals     int
			Test          map[string][][]string
		}
		NotProposed []struct{ Command, Reason string } `json:"not_proposed"`
		Replay      struct {
			Requests, Different int
			Changes             []struct{ Was, Now, Command string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Written || len(got.Rules) != 1 || got.Rules[0].Matches != "a|b" || got.Rules[0].Approvals != 2 || len(got.Rules[0].Test["yes"]) != 2 ||
		len(got.NotProposed) != 1 || got.Replay.Requests != 3 || got.Replay.Different != 2 || got.Replay.Changes[0].Now != "allow" {
		t.Errorf("%s", out.String())
	}
	if rules, _ := d.learned(learnOptions{}); len(rules) > 0 {
		t.Errorf("proposed again: %q", rules)
	}
	if text, err := os.ReadFile(got.File); err != nil || filepath.Base(got.File) != "app.yaml" || !strings.Contains(string(text), "learned-") {
		t.Errorf("%s has %s, %v", got.File, text, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

func (d *document) readCommands(n *yaml.Node) {
	d.each(n, "commands", func(key, value *yaml.Node) {
		if !policy.ValidName(key.Value) || key.Value == "hostexec" {
			d.fail(key, "%s cannot be the name of a command", names.Quoted(key.Value))
			return
		}
		d.commands[key.Value] = d.command(key, value)
	})
}

func (d *document) command(key, n *yaml.Node) policy.Ruleset {
	set := policy.Ruleset{Position: d.where(key)}
	var place, limits policy.Place
	known := d.settings(&set.Settings)
	known["exec"] = scalar(d.reader, "exec", &set.Exec, absolute)
	known["sha256"] = scalar(d.reader, "sha256", &set.SHA256, digestOf)
	known["prepend"] = d.scalars("prepend", &set.Prepend)
	known["where"] = scalar(d.reader, "where", &place, ParsePlace)
	known["container"] = d.container(&limits)
	known["sandbox"] = d.sandbox(&set.Sandbox)
	known["gitdir"] = scalar(d.reader, "gitdir", &set.GitDir, choice(policy.GitHost, policy.GitMount))
	seen := map[string]bool{}
	known["rules"] = d.ruleList("rules", &set.Rules, seen, d.rule)
	if d.role != workspace {
		known["approved"] = d.ruleList("approved", &set.Approved, seen, d.approvedRule)
	}
	d.fields(n, "commands."+key.Value, known)
	if set.SHA256 != "" && set.Exec == "" {
		d.fail(key, "sha256 needs exec")
	}
	d.setPlace(key, &set, place, limits)
	return set
}

// ruleList reads a list of rules into into. seen holds the ids of all rules of the command.
func (d *document) ruleList(key string, into *[]policy.Rule, seen map[string]bool, read func(*yaml.Node, int) policy.Rule) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.list(n, key, func(n *yaml.Node) {
			r := read(n, len(*into)+1)
			if seen[r.ID] {
				d.fail(n, "there is a rule %s already", r.ID)
			}
			seen[r.ID] = true
			*into = append(*into, r)
		})
	}
}

var hex64 = names.Form{Chars: "0-9a-f", Min: 64, Max: 64}

func digestOf(s string) (string, error) {
	s = strings.ToLower(strings.TrimPrefix(s, "sha256:"))
	if !hex64.Matches(s) {
		return "", errors.New("must be 64 hex digits, as sha256sum prints them")
	}
	return s, nil
}

// settings returns the keys that defaults, commands and rules have in common.
func (d *document) settings(s *policy.Settings) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"stdin":     optionalScalar(d.reader, "stdin", &s.Stdin, stdin),
		"tty":       optionalScalar(d.reader, "tty", &s.TTY, tty),
		"timeout":   optionalScalar(d.reader, "timeout", &s.Timeout, duration),
		"output":    optionalScalar(d.reader, "output", &s.Output, size),
		"new_privs": optionalScalar(d.reader, "new_privs", &s.NewPrivs, parseBool),
		"leave":     optionalScalar(d.reader, "leave", &s.Leave, parseBool),
		"keep":      optionalScalar(d.reader, "keep", &s.Keep, parseBool),
		"record":    optionalScalar(d.reader, "record", &s.Record, parseBool),
		"env":       func(n *yaml.Node) { s.Env = d.env(n) },
	}
}

// maxCapture limits the bytes of standard input that can be captured and shown before use.
const maxCapture = 1 << 20

func stdin(s string) (policy.Stdin, error) {
	switch s {
	case "none":
		return policy.Stdin{}, nil
	case "pipe":
		return policy.Stdin{Mode: policy.StdinPipe}, nil
	}
	limit := int64(maxCapture)
	if s != "capture" {
		text, opened := strings.CutPrefix(s, "capture(")
		text, closed := strings.CutSuffix(text, ")")
		if !opened || !closed || text == "" {
			return policy.Stdin{}, fmt.Errorf("%s is none of none, pipe, capture(64KiB)", names.Quoted(s))
		}
		var err error
		if limit, err = size(text); err != nil {
			return policy.Stdin{}, err
		}
	}
	if limit > maxCapture {
		return policy.Stdin{}, fmt.Errorf("%s: at most 1MiB can be captured", names.Quoted(s))
	}
	return policy.Stdin{Mode: policy.StdinCapture, Limit: limit}, nil
}

func tty(s string) (bool, error) {
	switch s {
	case "never":
		return false, nil
	case "allow":
		return true, nil
	}
	if b, err := parseBool(s); err == nil {
		return b, nil
	}
	return false, fmt.Errorf("%s is neither never nor allow", names.Quoted(s))
}

var envName = names.Form{First: "A-Za-z_", Chars: "A-Za-z0-9_", Min: 1, Max: names.Unbounded}

func (d *document) env(n *yaml.Node) *policy.Env {
	e := &policy.Env{}
	if n.Kind == yaml.ScalarNode && n.Value == "clean" {
		e.Clean = true
		return e
	}
	name := func(n *yaml.Node, s string) bool {
		ok := envName.Matches(s) && !strings.HasPrefix(s, "HOSTEXEC_")
		if !ok {
			d.fail(n, "env: %s cannot be the name of a variable here", names.Quoted(s))
		}
		return ok
	}
	d.fields(n, "env", map[string]func(*yaml.Node){
		"clean": scalar(d.reader, "clean", &e.Clean, parseBool),
		"pass": func(n *yaml.Node) {
			d.scalars("pass", &e.Pass)(n)
			for _, s := range e.Pass {
				name(n, s)
			}
		},
		"set": func(n *yaml.Node) {
			e.Set = map[string]string{}
			d.each(n, "set", func(key, value *yaml.Node) {
				w, ok := d.scalar(value, key.Value)
				if strings.ContainsRune(w, 0) {
					d.fail(value, "env: %s holds a NUL", key.Value)
				} else if ok && name(key, key.Value) {
					e.Set[key.Value] = w
				}
			})
		},
	})
	return e
}

var idForm = names.Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9._-", Min: 1, Max: 64}

func ruleID(s string) (string, error) {
	if !idForm.Matches(s) {
		return "", fmt.Errorf("%s is not an id: letters, digits and . _ -, at most 64", names.Quoted(s))
	}
	return s, nil
}

// unnamedID returns the id of a rule without one: its position in its file.
func unnamedID(r role, number int) string { return r.String() + "#" + strconv.Itoa(number) }

func (d *document) rule(n *yaml.Node, number int) policy.Rule {
	r := policy.Rule{ID: unnamedID(d.role, number), Position: d.where(n)}
	before, accept := len(d.problems), ""
	var do *policy.Action
	known := d.matching(&r)
	maps.Copy(known, d.settings(&r.Settings))
	known["do"] = optionalScalar(d.reader, "do", &do, policy.ParseAction)
	known["fixed"] = d.scalars("fixed", &r.Fixed)
	known["accept"] = scalar(d.reader, "accept", &accept, choice(policy.CodeAccepted))
	known["anywhere"] = scalar(d.reader, "anywhere", &r.Anywhere, parseBool)
	known["inputs"] = d.inputs(&r.Inputs)
	known["preview"] = d.preview(&r.Preview)
	known["reason"] = scalar(d.reader, "reason", &r.Reason, reason)
	r.AnyArgs = true // unless there is argv
	d.fields(n, "rule", known)
	r.Accept = accept != ""
	if do != nil {
		r.Do = *do
	}
	switch {
	case len(d.problems) > before:
		return r
	case do == nil:
		d.fail(n, "rule %s: no do: allow, ask or deny", r.ID)
	case r.Do == policy.Deny && len(r.Inputs) > 0:
		d.fail(n, "rule %s: inputs are of calls that may run, and it denies", r.ID)
	case r.Do == policy.Deny && len(r.Preview) > 0:
		d.fail(n, "rule %s: a preview is for a question, and it denies", r.ID)
	case r.AnyArgs && r.Fixed == nil:
		d.fail(n, "rule %s: neither argv nor fixed", r.ID)
	}
	d.compile(n, &r)
	return r
}

// matching returns the keys of a rule that say which requests it is for.
func (d *document) matching(r *policy.Rule) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"id": scalar(d.reader, "id", &r.ID, ruleID),
		"argv": func(n *yaml.Node) {
			r.AnyArgs = false
			d.list(n, "argv", func(n *yaml.Node) { r.Argv = append(r.Argv, d.element(n)) })
		},
		"effects": d.scalars("effects", &r.Effects),
		"test": func(n *yaml.Node) {
			d.fields(n, "test", map[string]func(*yaml.Node){"yes": d.argvs("yes", &r.MustMatch), "no": d.argvs("no", &r.MustNotMatch)})
		},
	}
}

// compile checks a rule that was read from n, and prepares it for matching.
func (d *document) compile(n *yaml.Node, r *policy.Rule) {
	if err := CheckEffects(r.Effects); err != nil {
		d.fail(n, "rule %s: effects: %v", r.ID, err)
	}
	if err := r.Compile(); err != nil {
		d.fail(n, "rule %s: %v", r.ID, err)
	}
}

// inputs reads the patterns of files on which an approval may depend.
func (d *document) inputs(into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.scalars("inputs", into)(n)
		for _, glob := range *into {
			if err := inputs.CheckGlob(glob); err != nil {
				d.fail(n, "inputs: %v", err)
			}
		}
	}
}

// preview reads the arguments that are added for a preview.
func (d *document) preview(into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		before := len(d.problems)
		d.scalars("preview", into)(n)
		if err := policy.CheckPreview(*into); err != nil && len(d.problems) == before {
			d.fail(n, "preview: %v", err)
		}
	}
}

// CheckEffects returns an error if one of the effects of a rule is unknown.
func CheckEffects(all []string) error {
	for _, e := range all {
		if _, err := choice("read", "write", "network", "code")(e); err != nil {
			return err
		}
	}
	return nil
}

// reason is one line of printable ASCII: the container's terminal shows it.
func reason(s string) (string, error) {
	if len(s) > 200 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", errors.New("at most 200 printable ASCII characters")
	}
	return s, nil
}

// argvs reads a list of argument lists.
func (d *document) argvs(what string, into *[][]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.list(n, what, func(n *yaml.Node) {
			var argv []string
			d.scalars(what, &argv)(n)
			*into = append(*into, argv)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// WritableCode lists the code and settings of commands that are writable according to access. It only reports. Commands
// get env without the findings in it. A command whose program or sandbox is among the findings does not run.
func WritableCode(p *policy.Policy, env []string, access hostcode.ContainerAccess) (all []policy.Problem) {
	_, found := hostcode.Environ(env, access)
	for _, f := range append(found, hostcode.WritableSettings(osenv.Get(env, "HOME"), access)...) {
		all = append(all, policy.Problem{Text: f.String()})
	}
	search, _ := hostcode.Path(osenv.Get(env, "PATH"), access)
	s := writableFinder{access: access, search: search}
	s.settings("", "", p.Defaults)
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		if set := p.Rules[name]; !set.Place.InContainer() {
			s.command(name, set)
		}
	}
	s.sandboxes(p)
	return append(all, s.problems...)
}

// writableFinder collects the findings of WritableCode in a policy.
type writableFinder struct {
	access   hostcode.ContainerAccess
	search   string // PATH
	problems []policy.Problem
}

func (s *writableFinder) add(where, rule, format string, args ...any) {
	s.problems = append(s.problems, policy.Problem{Position: where, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

func (s *writableFinder) command(name string, set policy.Ruleset) {
	if set.Exec != "" {
		if at, ok := hostcode.WritableDependency(set.Exec, s.search, s.access); ok {
			s.add(set.Position, name, "exec: %s could change %s, so it will not run", s.access.Writer(at), strconv.QuoteToASCII(at))
		}
	}
	s.words(set.Position, name, "prepend", set.Prepend)
	s.settings(set.Position, name, set.Settings)
	for i := range set.Rules {
		r := &set.Rules[i]
		title := r.Title(name)
		s.words(r.Position, title, "fixed", r.Fixed)
		for _, e := range r.Argv {
			if e.Kind == policy.KindInsert {
				s.words(r.Position, title, "insert", e.Words)
			}
		}
		s.settings(r.Position, title, r.Settings)
	}
}

// sandboxes finds paths of sandboxes that code in another sandbox could replace.
func (s *writableFinder) sandboxes(p *policy.Policy) {
	written := p.SandboxWrites()
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		set := p.Rules[name]
		for _, path := range slices.Concat(set.Sandbox.Write, set.Sandbox.Read, set.Sandbox.Creds, set.Sandbox.Cache) {
			if err := checkOutside(path, written); err != nil {
				s.add(set.Position, name, "calls are refused: %v", err)
			}
		}
	}
}

// words checks arguments of the configuration. A path in an argument may be code: -c core.sshCommand=/w/x.
func (s *writableFinder) words(where, rule, key string, words []string) {
	for _, word := range words {
		if at, ok := hostcode.WritablePath(word, s.access); ok {
			s.add(where, rule, "%s: %s names %s, which %s can write", key, strconv.QuoteToASCII(word), strconv.QuoteToASCII(at), s.access.Writer(at))
		}
	}
}

func (s *writableFinder) settings(where, rule string, set policy.Settings) {
	if set.Env == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(set.Env.Set)) {
		_, found := hostcode.Environ([]string{name + "=" + set.Env.Set[name]}, s.access)
		for _, f := range found {
			if name != "PATH" {
				f.Then = "it stays, because you set it"
			}
			s.add(where, rule, "env: %s", f)
		}
	}
}

// WritableByCallers returns the directories that callers of docker hostexec proxy may be able to write: those of
// requests, and the one in which commands run. These may be mounted into a container. A home directory does not count,
// because programs and settings come from there.
func WritableByCallers(rec state.Session) (list []mount.Point) {
	if home, err := os.UserHomeDir(); err != nil || !names.Within(mount.Resolved(home), mount.Resolved(rec.InvokedIn)) {
		list = append(list, mount.Point{Source: rec.InvokedIn})
	}
	for _, name := range rec.Names() {
		requests, _ := rec.Proxy.Dir(name)
		list = append(list, mount.Point{Source: requests})
	}
	return list
}

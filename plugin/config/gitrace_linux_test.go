// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// between is a runner that does something once, before it runs git with the verb.
type between struct {
	call.Runner
	verb string
	once sync.Once
	do   func()
}

func (b *between) Run(ctx context.Context, c executor.Command, s executor.Streams) (executor.Status, error) {
	if slices.Contains(c.Args, b.verb) {
		b.once.Do(b.do)
	}
	return b.Runner.Run(ctx, c, s)
}

// TestGitIndexRace has one call add a repository of the container as a submodule. Another call, which enters
// submodules, was checked before that, and runs after it.
//
// Attack 232.
func TestGitIndexRace(t *testing.T) {
	const poison = `git rm -qf --cached lib; git commit -qm none; rm -rf lib .gitmodules; git init -q sub; cd sub; echo a >l; git add l; git commit -qm l
		git config filter.x.clean $EVIL; echo '* filter=x' >.gitattributes; touch -d @1 l; echo y >l`
	v := newVictim(t)
	for _, verb := range []string{"status", "commit"} {
		v.reset(t)
		v.sh(t, v.work, poison)
		v.fired(t)
		s := v.serve(t, ownRules)
		added := wire.Exit{}
		s.Runner = &between{Runner: v.host, verb: verb, do: func() {
			_, added = runWords(t, s, "/w", "hostexec", "--timeout", "200ms", "git", "add", "sub")
		}}
		args := []string{verb}
		if verb == "commit" {
			args = append(args, "-mx", "f")
		}
		if run(t, s, "/w", args...); v.fired(t) {
			t.Errorf("git %s ran a program of a repository that was added meanwhile", verb)
		}
		if added == (wire.Exit{Outcome: wire.Exited}) {
			t.Errorf("git add ran between the check and the run of git %s", verb)
		}
		if _, exit := run(t, s, "/w", "add", "sub"); exit != (wire.Exit{Outcome: wire.Exited}) {
			t.Errorf("git add, afterwards: %+v", exit)
		}
	}
}

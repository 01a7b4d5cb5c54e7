// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// configuration checks the configuration of all projects, of each project, and of the current workspace.
func (d *doctor) configuration() finding {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = cli.Directory(dir)
	}
	if err != nil {
		return finding{Status: isFail, Found: err.Error(), Means: "the current directory cannot be read", Fix: "cd"}
	}
	here := config.Source{Store: d.store.Home, Project: dir, Workspace: dir}
	files := []string{here.GlobalFile()}
	problems := config.Check(here)
	projects, _ := filepath.Glob(filepath.Join(d.store.Home, "projects", "*.yaml")) // the pattern is valid
	for _, file := range projects {
		files = append(files, file)
		src := config.Source{Store: d.store.Home, Project: "/" + strings.TrimSuffix(filepath.Base(file), ".yaml")}
		for _, p := range config.Check(src) {
			if !slices.Contains(problems, p) {
				problems = append(problems, p)
			}
		}
	}
	return configured(problems, slices.DeleteFunc(files, func(f string) bool { _, err := os.Lstat(f); return errors.Is(err, fs.ErrNotExist) }))
}

// shownProblems is the maximum number of problems to show; policy check shows all.
const shownProblems = 5

func configured(problems []policy.Problem, files []string) finding {
	f := finding{Status: isOK, Found: "there is none", Means: "--proxy alone decides what containers may call"}
	if len(files) > 0 {
		f.Found, f.Means = strings.Join(files, "\n"), "it is valid, and only you can write it"
	}
	if len(problems) == 0 {
		return f
	}
	slices.SortStableFunc(problems, func(a, b policy.Problem) int { return rank(a) - rank(b) })
	f.Found, f.Status, f.Fix = firstLines(problems), isWarn, "docker hostexec policy check"
	f.Means = "it has an effect, but check these warnings"
	if problems[0].Fatal {
		f.Status, f.Means = isFail, "an invalid configuration denies every request"
	}
	return f
}

// firstLines returns the first problems, one in each line.
func firstLines(problems []policy.Problem) string {
	var lines []string
	for _, p := range problems[:min(len(problems), shownProblems)] {
		lines = append(lines, p.String())
	}
	if n := len(problems) - shownProblems; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}

func rank(p policy.Problem) int {
	if p.Fatal {
		return 0
	}
	return 1
}

// leftovers lists what is left behind or does not answer, the consequences, and what to type.
type leftovers struct{ found, means, fixes []string }

// The meanings of leftovers.
const (
	callsFail = "calls of such a session fail"
	usesDisk  = "leftovers use disk space, and do no other harm"
)

func (s *leftovers) add(means, fix, format string, args ...any) {
	s.found = append(s.found, names.Escaped(fmt.Sprintf(format, args...))) // in one line, whatever a name contains
	if !slices.Contains(s.means, means) {
		s.means = append(s.means, means)
	}
	if !slices.Contains(s.fixes, fix) {
		s.fixes = append(s.fixes, fix)
	}
}

// staleState finds sessions without a watcher, and leftovers of removed sessions and killed proxies.
func (d *doctor) staleState(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout) // for watchers, which have five seconds, and then for engines
	defer cancel()
	recs, err := d.store.List()
	if err != nil {
		return finding{Status: isFail, Found: err.Error(), Means: "the sessions are not known", Fix: "set HOSTEXEC_HOME to a directory of your own"}
	}
	var left leftovers
	rebuilt, answered := sessions.Rebuilt(ctx, d.cli, d.store, recs)
	recs = append(recs, rebuilt...)
	all := sessions.States(ctx, d.cli, d.store, recs)
	served := 0
	for _, s := range all {
		if s.Watcher != nil {
			served++
			continue
		}
		d.unserved(&left, s)
	}
	d.recordless(&left, recs, answered)
	for _, name := range d.store.ProxyLocks().Killed() {
		left.add("the next proxy there cleans up after it", "docker hostexec proxy "+name+", in the same directory", "the lock of a proxy for %s that was killed", name)
	}
	d.leftAtEngine(ctx, &left, all)
	if len(left.found) == 0 {
		return finding{Status: isOK, Found: fmt.Sprintf("%s, %d served", cli.Count(len(all), "session"), served), Means: "nothing is left behind"}
	}
	return finding{Status: isWarn, Found: strings.Join(left.found, "\n"), Means: strings.Join(left.means, "; "), Fix: strings.Join(left.fixes, "; ")}
}

// recordless finds directories without a readable record, except for those of recs. answered reports whether all
// engines have listed their containers.
func (d *doctor) recordless(left *leftovers, recs []state.Session, answered bool) {
	recordless := d.store.Recordless(sessions.MinAge)
	for _, dir := range d.store.IncompleteDirs(sessions.MinAge) {
		id := filepath.Base(dir)
		switch {
		case sessions.Contains(recs, id):
		case slices.Contains(recordless, id):
			left.add(usesDisk, "docker hostexec prune", "%s is not a session", dir)
		case !answered:
			left.add("it is not known whether its container runs", "docker hostexec doctor, when the engine answers", "%s has no record that can be read, and an engine does not answer", dir)
		default:
			left.add(usesDisk, policy.CommandLine([]string{"rm", "-r", dir}), "%s is not a session", dir)
		}
	}
}

// unserved adds a session without a watcher that answers, unless its container has stopped or a person has
// ended it.
func (d *doctor) unserved(left *leftovers, s sessions.Session) {
	var stopped *control.SuspendedError
	switch {
	case errors.As(s.Unanswered(), &stopped):
		left.add(callsFail, stopped.Hint(), "session %s (%s): %v", s.ID, s.ContainerName, stopped)
	case sessions.Served(d.store, s.ID):
		left.add(callsFail, "docker hostexec logs "+s.ID, "session %s (%s) has a watcher that does not answer", s.ID, s.ContainerName)
	case s.Damaged && s.State != sessions.StateGone:
		left.add(callsFail, "docker rm -f "+s.ContainerName+", then docker hostexec run again", "session %s (%s) has no record that can be read, and its container is there", s.ID, s.ContainerName)
	case sessions.AbandonedAgent(s, time.Now()) && s.State != sessions.StateGone:
		left.add(usesDisk, "docker hostexec prune", "session %s is of an agent whose processes are gone; its container may be there", s.ID)
	case s.State == sessions.StateLost:
		left.add(callsFail, "docker hostexec resume --all", "session %s (%s) is lost: its container runs, and its watcher has gone", s.ID, s.ContainerName)
	case s.Proxy != nil && sessions.Prunable(d.store, s, time.Now()):
		left.add(usesDisk, "docker hostexec prune", "session %s is of a proxy that was killed", s.ID)
	case sessions.Prunable(d.store, s, time.Now()):
		left.add(usesDisk, "docker hostexec prune", "session %s is of a container that was removed", s.ID)
	case s.State == sessions.StateUnknown:
		left.add("it is not known whether its container runs", "docker hostexec status -a", "session %s (%s) has no watcher, and its engine does not answer", s.ID, s.ContainerName)
	}
}

// leftAtEngine finds call containers of sessions that have ended.
func (d *doctor) leftAtEngine(ctx context.Context, left *leftovers, all []sessions.Session) {
	if d.engine.err != nil {
		return
	}
	dead := func(id string) bool {
		i := slices.IndexFunc(all, func(s sessions.Session) bool { return s.ID == id })
		return i < 0 || all[i].Watcher == nil && all[i].Unanswered() == nil
	}
	ids, _ := callcontainer.Leftovers(ctx, d.engine.api, d.store.Home, dead) // the engine has answered before
	for _, id := range ids {
		left.add(usesDisk, "docker hostexec prune", "container %.12s is of a command whose session has gone", id)
	}
}

// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// What a session of the current directory would leave out of the environment, and what in the
// configuration names files there, is known before there is one.

// ownerHere knows what containers are likely to write: the current directory, unless run would
// refuse to mount it or it holds the home directory, and what those of all sessions can.
func ownerHere(store *state.Store, workspace string) (*dir.Table, error) {
	var mounts []dir.Mount
	view, err := dir.ReadView()
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if !view.Overlap(workspace, store.Home) && (err != nil || !view.Route(home).Through(view.Locate(workspace))) {
		mounts = append(mounts, dir.Mount{Source: workspace})
	}
	all, err := store.List()
	for _, rec := range all {
		for _, source := range rec.Writable {
			mounts = append(mounts, dir.Mount{Source: source})
		}
		if rec.Proxy != nil {
			mounts = append(mounts, watch.Requested(rec)...)
		}
	}
	table, terr := dir.NewTable(mounts, dir.Default{})
	if err == nil {
		err = terr
	}
	return table, err
}

// suppliedHere are the findings of both, of which none is fatal.
func suppliedHere(store *state.Store, src config.Source) ([]policy.Problem, error) {
	owner, err := ownerHere(store, src.Workspace)
	if err != nil {
		return nil, err
	}
	all := watch.Supplied(config.Load(src).Policy(nil), os.Environ(), owner)
	for _, f := range executor.Links(os.Getenv("PATH"), owner) {
		all = append(all, policy.Problem{Text: f.String()})
	}
	return all, nil
}

// programs is doctor's look at what containers supply of what commands run.
func (d *doctor) programs() finding {
	workspace, err := os.Getwd()
	if err == nil {
		workspace, err = directory(workspace)
	}
	var found []policy.Problem
	if err == nil {
		found, err = suppliedHere(d.store, config.Source{Store: d.store.Home, Project: workspace, Workspace: workspace})
	}
	switch {
	case err != nil:
		return finding{Status: isWarn, Found: err.Error(), Means: "it is not known which programs and settings of commands a container can write", Fix: "docker hostexec status -a"}
	case len(found) == 0:
		return finding{Status: isOK, Found: "nothing in PATH or in variables that name code is below " + workspace + " or a mount of a session", Means: "programs that commands call are this host's"}
	}
	var lines []string
	for _, p := range found[:min(len(found), shownProblems)] {
		lines = append(lines, p.String())
	}
	if n := len(found) - shownProblems; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return finding{Status: isWarn, Found: strings.Join(lines, "\n"),
		Means: "a container that has the directory can choose these programs and settings: commands do without them where that is possible",
		Fix:   "start sessions from a shell without the venv or direnv, or install the programs elsewhere; docker hostexec policy check shows all"}
}

// checkHere is what policy check finds: config.Check's, and what containers supply.
func checkHere(store *state.Store, src config.Source, checkAgent func(*state.Store, config.Agent) []policy.Problem) []policy.Problem {
	supplied, err := suppliedHere(store, src)
	if err != nil {
		supplied = []policy.Problem{{Text: "look at what containers can write: " + err.Error()}}
	}
	return slices.Concat(config.Check(src), checkAgent(store, config.Load(src).Agent), supplied)
}

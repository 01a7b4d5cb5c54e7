// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// completeRun registers completions of the flags that are ours.
func completeRun(cmd *cobra.Command) {
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	directories := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"proxy":           completeProxy,
		"workspace":       directories,
		"workdir-host":    directories,
		"pass-env":        completeEnv,
		"allow-new-privs": cobra.NoFileCompletions,
		"carrier":         fixed("auto", "socket", "relay", "files"),
	} {
		// It fails only for a flag that does not exist, or twice: see the test of run.
		_ = cmd.RegisterFlagCompletionFunc(flag, complete)
	}
}

// completeProxy offers this host's commands, then what can be done with one.
func completeProxy(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if name, _, given := strings.Cut(typed, "="); given {
		return []string{name + "=allow", name + "=ask", name + "=deny"}, cobra.ShellCompDirectiveNoFileComp
	}
	return commandsIn(os.Getenv("PATH"), typed), cobra.ShellCompDirectiveNoFileComp
}

func completeEnv(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSessions offers the sessions and their containers that are not given yet.
func completeSessions(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	store, err := state.Open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	recs, err := store.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	taken := make(map[string]bool, len(given))
	for _, ref := range given {
		taken[ref] = true
	}
	var refs []string
	for _, rec := range recs {
		if taken[rec.ID] || taken[rec.ContainerName] {
			continue
		}
		refs = append(refs, rec.ID)
		if rec.ContainerName != "" {
			refs = append(refs, rec.ContainerName)
		}
	}
	return refs, cobra.ShellCompDirectiveNoFileComp
}

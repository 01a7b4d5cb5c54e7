// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/completion"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// first completes the first argument, and no other.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, given, typed)
	}
}

// records returns the sessions that there are, or none.
func records() []state.Session {
	store, err := state.Look()
	if err != nil {
		return nil
	}
	recs, _ := store.List() // nothing is said while somebody types
	return recs
}

// completeSessions offers the sessions and their containers that are not given yet.
func completeSessions(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	var refs []string
	for _, rec := range records() {
		if slices.Contains(given, rec.ID) || slices.Contains(given, rec.ContainerName) {
			continue
		}
		refs = append(refs, rec.ID)
		if rec.ContainerName != "" {
			refs = append(refs, rec.ContainerName)
		}
	}
	return refs, cobra.ShellCompDirectiveNoFileComp
}

// completeContainers offers containers that run, and have no session.
func completeContainers(dockerCLI command.Cli) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		names, directive := completion.ContainerNames(dockerCLI, false)(cmd, given, typed)
		taken := map[string]bool{}
		for _, rec := range records() {
			taken[rec.ContainerName] = true
		}
		return slices.DeleteFunc(names, func(name string) bool { return taken[name] }), directive
	}
}

// completeShells offers a session, then the shells that it has.
func completeShells(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return completeSessions(cmd, given, typed)
	}
	if len(given) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	store, err := state.Look()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := dialIn(store, given[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), completing)
	defer cancel()
	all, _ := c.Shells(ctx) // there are none to offer
	var names []string
	for _, sh := range all {
		names = append(names, sh.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completing is how long somebody who types waits for a watcher.
const completing = 5 * time.Second

// completeCommand offers this host's commands, and then files, which may be its arguments.
func completeCommand(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return commandsIn(os.Getenv("PATH"), typed), cobra.ShellCompDirectiveNoFileComp
}

// valuesOf offers what sessions have for a key of --filter.
func valuesOf(key string) (values []string) {
	for _, rec := range records() {
		switch key {
		case "id", "session":
			values = append(values, rec.ID)
		case "container":
			values = append(values, rec.ContainerName)
		case "image":
			values = append(values, rec.Image)
		case "command":
			values = append(values, rec.Names()...)
		case "agent":
			values = append(values, rec.AgentName())
		}
	}
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
}

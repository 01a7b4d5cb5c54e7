// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Records returns the records of all sessions, for completion.
func Records() []state.Session {
	store, err := state.OpenReadOnly()
	if err != nil {
		return nil
	}
	recs, _ := store.List() // completion reports no errors
	return recs
}

// Complete completes the sessions and containers that are not given yet.
func Complete(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	var refs []string
	for _, rec := range Records() {
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

// FilterValues returns the existing values of a key of --filter, for completion.
func FilterValues(key string) (values []string) {
	for _, rec := range Records() {
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

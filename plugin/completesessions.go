// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

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

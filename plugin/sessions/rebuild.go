// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A session's record and its copy may both be damaged. A watcher writes them anew. Without a watcher the
// session's container still tells that there is a session, but not what the container may call.

// All returns the sessions with a record, and those that only a container tells of.
func All(ctx context.Context, dockerCLI command.Cli, store *state.Store) ([]state.Session, error) {
	recs, err := store.List()
	if err != nil {
		return nil, err
	}
	more, _ := Rebuilt(ctx, dockerCLI, store, recs)
	return append(recs, more...), nil
}

// Rebuilt returns the sessions without a readable record and without a watcher that have a container at
// docker's own engine, or at the engine of a session of recs. answered is whether all of them answered.
func Rebuilt(ctx context.Context, dockerCLI command.Cli, store *state.Store, recs []state.Session) (more []state.Session, answered bool) {
	answered = true
	folders := store.IncompleteFolders(0)
	if len(folders) == 0 {
		return nil, answered
	}
	engines := [][]string{cli.GlobalArgs(dockerCLI)}
	for _, rec := range recs {
		if !slices.ContainsFunc(engines, func(args []string) bool { return slices.Equal(args, rec.GlobalArgs) }) {
			engines = append(engines, rec.GlobalArgs)
		}
	}
	for _, args := range engines {
		list, err := labelled(ctx, dockerCLI, args)
		if err != nil {
			answered = false
			continue
		}
		found := rebuild(folders, args, list)
		more = append(more, found...)
		folders = slices.DeleteFunc(folders, func(dir string) bool { return Knows(found, filepath.Base(dir)) })
	}
	return more, answered
}

// Knows reports whether session id is one of recs.
func Knows(recs []state.Session, id string) bool {
	return slices.ContainsFunc(recs, func(rec state.Session) bool { return rec.ID == id })
}

// labelled returns the containers of an engine that have a session's label.
func labelled(ctx context.Context, dockerCLI command.Cli, globalArgs []string) ([]container.Summary, error) {
	api, err := cli.Connect(dockerCLI.ConfigFile(), globalArgs)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, PingTime)
	defer cancel()
	return api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", inject.LabelSession))})
}

// rebuild returns what containers tell of the sessions whose folders are given. An image can have any
// label, but only a container that was made for the session has its mount. Of several containers of a
// session, as of a service, a running one counts first.
func rebuild(folders, globalArgs []string, list []container.Summary) (recs []state.Session) {
	for _, dir := range folders {
		_, id := state.Of(dir)
		own := slices.DeleteFunc(slices.Clone(list), func(c container.Summary) bool {
			return c.Labels[inject.LabelSession] != id || !mounts(c, dir)
		})
		if len(own) == 0 {
			continue
		}
		c := slices.MinFunc(own, func(a, b container.Summary) int {
			return cmp.Or(cmp.Compare(down(a), down(b)), cmp.Compare(b.Created, a.Created))
		})
		recs = append(recs, state.Session{
			ID: id, Version: cmp.Or(c.Labels[inject.LabelVersion], "unknown"), Created: time.Unix(c.Created, 0).UTC(),
			Container: c.ID, ContainerName: nameOf(c.Names), Image: c.Image, Commands: namesOf(c.Labels[inject.LabelCommands]),
			GlobalArgs: globalArgs, Damaged: true,
		})
	}
	return recs
}

// down is 0 for a container that runs, else 1.
func down(c container.Summary) int {
	if c.State == container.StateRunning {
		return 0
	}
	return 1
}

// mounts reports whether a container has the share of the session in folder dir, or a volume in its
// place. The engine may see this host's directories below a prefix.
func mounts(c container.Summary, dir string) bool {
	return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool {
		return m.Destination == state.Target && (m.Type == mount.TypeVolume || strings.HasSuffix(m.Source, state.ShareDir(dir)))
	})
}

// namesOf returns commands of which only the names are known: an action that is none denies.
func namesOf(label string) (commands []state.Command) {
	for name := range strings.SplitSeq(label, ",") {
		if config.CheckName(name) == nil {
			commands = append(commands, state.Command{Name: name, Action: "unknown"})
		}
	}
	return commands
}

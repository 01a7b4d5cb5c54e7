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

// If a session's record and its copy are damaged, its watcher writes them again. Without a watcher, labels of
// the session's container still show that the session exists, but not its commands.

// All returns the sessions with a record, and those that are known only from a container.
func All(ctx context.Context, dockerCLI command.Cli, store *state.Store) ([]state.Session, error) {
	recs, err := store.List()
	if err != nil {
		return nil, err
	}
	rebuilt, _ := Rebuilt(ctx, dockerCLI, store, recs)
	return append(recs, rebuilt...), nil
}

// Rebuilt returns the sessions without a readable record and without a watcher that have a container. It asks
// docker's current engine and the engines of recs. answered reports whether all of them answered.
func Rebuilt(ctx context.Context, dockerCLI command.Cli, store *state.Store, recs []state.Session) (rebuilt []state.Session, answered bool) {
	answered = true
	dirs := store.IncompleteDirs(0)
	if len(dirs) == 0 {
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
		found := rebuild(dirs, args, list)
		rebuilt = append(rebuilt, found...)
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { return Contains(found, filepath.Base(dir)) })
	}
	return rebuilt, answered
}

// Contains reports whether recs has session id.
func Contains(recs []state.Session, id string) bool {
	return slices.ContainsFunc(recs, func(rec state.Session) bool { return rec.ID == id })
}

// labelled returns an engine's containers with a session's label.
func labelled(ctx context.Context, dockerCLI command.Cli, globalArgs []string) ([]container.Summary, error) {
	api, err := cli.Connect(dockerCLI.ConfigFile(), globalArgs)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, EngineTimeout)
	defer cancel()
	return api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", inject.LabelSession))})
}

// rebuild returns records of the sessions in directories from the labels of their containers. An image can have
// any label, but only a session's container has its mount. If a session has several containers, as a service
// has, a running one takes precedence.
func rebuild(dirs, globalArgs []string, list []container.Summary) (recs []state.Session) {
	for _, dir := range dirs {
		_, id := state.StoreOf(dir)
		own := slices.DeleteFunc(slices.Clone(list), func(c container.Summary) bool {
			return c.Labels[inject.LabelSession] != id || !mounts(c, dir)
		})
		if len(own) == 0 {
			continue
		}
		c := slices.MinFunc(own, func(a, b container.Summary) int {
			return cmp.Or(cmp.Compare(notRunning(a), notRunning(b)), cmp.Compare(b.Created, a.Created))
		})
		recs = append(recs, state.Session{
			ID: id, Version: cmp.Or(c.Labels[inject.LabelVersion], "unknown"), Created: time.Unix(c.Created, 0).UTC(),
			Container: c.ID, ContainerName: ContainerName(c.Names), Image: c.Image, Commands: commandsOf(c.Labels[inject.LabelCommands]),
			GlobalArgs: globalArgs, Damaged: true,
		})
	}
	return recs
}

func notRunning(c container.Summary) int {
	if c.State == container.StateRunning {
		return 0
	}
	return 1
}

// mounts reports whether a container has the share in dir, or a volume in its place. The engine may see this
// host's directories below a prefix.
func mounts(c container.Summary, dir string) bool {
	return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool {
		return m.Destination == state.Target && (m.Type == mount.TypeVolume || strings.HasSuffix(m.Source, state.ShareDir(dir)))
	})
}

// commandsOf returns commands with names only. Their action is none that can be parsed, so it denies.
func commandsOf(label string) (commands []state.Command) {
	for name := range strings.SplitSeq(label, ",") {
		if config.CheckName(name) == nil {
			commands = append(commands, state.Command{Name: name, Action: "unknown"})
		}
	}
	return commands
}

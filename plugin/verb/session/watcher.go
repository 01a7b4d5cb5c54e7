// SPDX-License-Identifier: Apache-2.0

package session

import (
	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/metadata"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
	"github.com/docker-hostexec/hostexec/plugin/watch/container"
	"github.com/docker-hostexec/hostexec/plugin/watch/directory"
	"github.com/docker-hostexec/hostexec/plugin/watch/process"
)

// NewWatcherCommand returns the hidden verb that a keeper starts. docker's own flags come before it, so that
// it uses the same engine.
func NewWatcherCommand(dockerCLI command.Cli) *cobra.Command {
	return &cobra.Command{
		Use:    "watcher DIR",
		Hidden: true,
		Args:   dockercli.ExactArgs(1),
		RunE: cli.VerbWithSignals(func(cmd *cobra.Command, args []string) error {
			w := &watch.Watcher{
				Dir:     args[0],
				Version: metadata.Version,
				Keeper:  watch.KeeperPipe(),
				Mode:    modeOf,
				Engine:  func() (watch.Engine, error) { return dockerCLI.Client(), nil },
				ConnectTo: func(host string) (watch.Engine, error) {
					return cli.Connect(dockerCLI.ConfigFile(), []string{"--host", host})
				},
			}
			return w.Run(cmd.Context(), watch.InheritedConn())
		}),
	}
}

// modeOf returns the mode of the session with record rec.
func modeOf(rec state.Session) watch.Mode {
	switch {
	case rec.Proxy != nil:
		return new(directory.Mode)
	case rec.OnHost():
		return new(process.Mode)
	}
	return new(container.Mode)
}

// IsWatcher reports whether a keeper has started this process: args are docker's own flags and then the verb.
func IsWatcher(args []string) bool {
	_, set, err := cli.ClientFlags(args[1:])
	return err == nil && set.NArg() == 3 && set.Arg(0) == cli.PluginName && set.Arg(1) == "watcher"
}

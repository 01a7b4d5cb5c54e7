// SPDX-License-Identifier: Apache-2.0

// Package devcontainer has the verb devcontainer. Without --start, the verb prints the properties that a user merges
// into a devcontainer.json. With --start, it starts the session of a dev container. The dev container tool ("the tool")
// runs it so before it creates or starts the container.
package devcontainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const devcontainerLong = `Print what a devcontainer.json needs, so that its container can call commands of this host

Merge the output into a devcontainer.json that uses an image or a Dockerfile. Everybody who has
docker hostexec can use it, unless HOSTEXEC_HOME, DOCKER_CONFIG or a flag adds a path of this
host. Before the editor creates or starts the container, it runs the initializeCommand on this
host, which starts the session. The session ends when the container has stopped. For a dev
container of docker compose, see docker hostexec with.

EXIT STATUS
  0    the output is complete
  125  hostexec failed; a line on stderr says why`

// NewCommand returns the verb devcontainer.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	var opts launch.Options
	var id string
	cmd := &cobra.Command{
		Use:               "devcontainer [OPTIONS]",
		Short:             "Print what a devcontainer.json needs to call commands of this host",
		Long:              devcontainerLong,
		Example:           "  docker hostexec devcontainer --proxy make --proxy git=ask",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Carrier = "auto"
			if err := cli.RefuseEmpty(cmd.Flags(), "workdir-host"); err != nil {
				return cli.FailRun(err)
			}
			if cmd.Flags().Changed("start") {
				ctx, stop := cli.Interruptible(cmd.Context(), dockerCLI)
				defer stop()
				return cli.FailRun(cli.CauseOf(ctx, start(ctx, dockerCLI, &opts, id)))
			}
			return cli.FailRun(printJSON(dockerCLI, &opts, cmd.Flags()))
		},
	}
	flags := cmd.Flags()
	opts.AddCommonFlags(flags)
	flags.StringVar(&id, "start", "", "Start the session of the dev container with this `id`, as its initializeCommand does")
	return cmd
}

// devcontainerJSON has the properties of a devcontainer.json that a session needs
// (containers.dev/implementors/json_reference).
type devcontainerJSON struct {
	InitializeCommand []string          `json:"initializeCommand"`
	Mounts            []string          `json:"mounts"`
	RunArgs           []string          `json:"runArgs"`
	RemoteEnv         map[string]string `json:"remoteEnv"`
}

// devcontainerID is the variable that the tool replaces by the container's id, which stays the same after a rebuild.
const devcontainerID = "${devcontainerId}"

func printJSON(dockerCLI command.Cli, opts *launch.Options, flags *pflag.FlagSet) error {
	p, err := opts.Plan("", false)
	if err != nil {
		return err
	}
	if len(p.Record.Commands) == 0 && p.Record.Shell == nil {
		return cli.Hint(errors.New("no command is proxied"), "docker hostexec devcontainer --proxy make")
	}
	store, err := state.Open()
	if err != nil {
		return err
	}
	share := portable(store.DevContainerShare(state.Devcontainers, devcontainerID))
	if strings.ContainsAny(share, ",\"") { // a mount is one string, whose parts are CSV
		return cli.Hint(fmt.Errorf("the state directory is %s, but a mount of a dev container cannot have a comma or a quote", names.Quoted(store.Home)), "set HOSTEXEC_HOME to another directory")
	}
	words := []string{"docker", cli.PluginName, "devcontainer", "--start", devcontainerID}
	relay := inject.RelayMount()
	e := json.NewEncoder(dockerCLI.Out())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(devcontainerJSON{
		InitializeCommand: append(words, changed(flags)...),
		Mounts: []string{
			"type=bind,source=" + share + ",target=" + inject.Target + ",readonly",
			fmt.Sprintf("type=tmpfs,target=%s,tmpfs-size=%d,tmpfs-mode=%04o", relay.Target, relay.TmpfsOptions.SizeBytes, relay.TmpfsOptions.Mode),
		},
		RunArgs:   []string{"--label", state.LabelDevcontainer + "=" + devcontainerID},
		RemoteEnv: map[string]string{"PATH": inject.WithShimDirs("${containerEnv:PATH}", len(p.Record.RuleCommands) > 0)},
	})
}

// changed returns the flags that were given, as words of a command line.
func changed(flags *pflag.FlagSet) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	return words
}

// portable returns path. If path is below the user's home directory, a variable that the tool replaces stands for that
// directory.
func portable(path string) string {
	home, err := os.UserHomeDir()
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && err == nil && home != "/" {
		return "${localEnv:HOME}/" + rest
	}
	return path
}

// idForm is the form of the id that replaces devcontainerID (devcontainers/spec, devcontainer-id-variable.md).
var idForm = names.Form{Chars: "A-Za-z0-9", Min: 1, Max: 128}

// start starts the session of the dev container with this id. The tool is about to create or start the container.
func start(ctx context.Context, dockerCLI command.Cli, opts *launch.Options, id string) error {
	if !idForm.Matches(id) {
		return cli.Hint(fmt.Errorf("--start %s: not the id of a dev container", names.Quoted(id)), "a tool that does not replace "+devcontainerID+" is too old")
	}
	p, err := opts.Plan("", false)
	if err != nil {
		return err
	}
	s, err := openStarter(ctx, dockerCLI)
	if err != nil {
		return err
	}
	defer s.close()
	p.Record.Engine = dockerCLI.DockerEndpoint().Host
	p.Record.GlobalArgs = cli.PinEngine(cli.GlobalArgs(dockerCLI), p.Record.Engine)
	p.Record.DevContainer = &state.DevContainer{Project: state.Devcontainers, Name: id}
	p.Record.ID = s.store.DevContainerID(p.Record.Engine, p.Record.DevContainer.Project, id)
	p.Record.Relay = true // the printed mounts have a place for one
	if err := s.serve(ctx, p); err != nil {
		return err
	}
	if err := linkShare(s.store, p.Record); err != nil {
		return err
	}
	return expectContainer(s.store, p.Record.ID)
}

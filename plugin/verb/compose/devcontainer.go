// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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

What is printed goes into the devcontainer.json of an image or a Dockerfile. It names no
path of this host, so that others can use it, who have docker hostexec too: before the
container is made or started, its tool runs the initializeCommand here, and that starts the
session. It ends when the container has stopped. A dev container of compose's is a service:
see docker hostexec compose.

EXIT STATUS
  0    it is printed
  125  it could not be; a line on stderr says why`

// NewDevcontainerCommand returns the verb devcontainer.
func NewDevcontainerCommand(dockerCLI command.Cli) *cobra.Command {
	var opts launch.Options
	var start string
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
				return cli.FailRun(startDevcontainer(cmd.Context(), dockerCLI, &opts, start))
			}
			return cli.FailRun(printDevcontainer(dockerCLI, &opts, cmd.Flags()))
		},
	}
	flags := cmd.Flags()
	opts.AddCommonFlags(flags)
	flags.StringVar(&start, "start", "", "Start the session of the dev container with this `id`, as its initializeCommand does")
	return cmd
}

// devcontainerJSON is the part of a devcontainer.json that is ours, in its words
// (containers.dev/implementors/json_reference).
type devcontainerJSON struct {
	InitializeCommand []string          `json:"initializeCommand"`
	Mounts            []string          `json:"mounts"`
	RunArgs           []string          `json:"runArgs"`
	RemoteEnv         map[string]string `json:"remoteEnv"`
}

// devcontainerID is replaced by the tool, by what names the container from its first start on.
const devcontainerID = "${devcontainerId}"

func printDevcontainer(dockerCLI command.Cli, opts *launch.Options, flags *pflag.FlagSet) error {
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
	share := portable(store.ServiceShare(state.Devcontainers, devcontainerID))
	if strings.ContainsAny(share, ",\"") { // a mount is one string, whose parts are CSV
		return cli.Hint(fmt.Errorf("hostexec's state lies in %s: a mount of a dev container can have no comma or quote", names.Quoted(store.Home)), "set HOSTEXEC_HOME to another directory")
	}
	words := []string{"docker", cli.PluginName, "devcontainer", "--start", devcontainerID}
	relay := inject.RelayMount()
	e := json.NewEncoder(dockerCLI.Out())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(devcontainerJSON{
		InitializeCommand: append(words, said(flags)...),
		Mounts: []string{
			"type=bind,source=" + share + ",target=" + inject.Target + ",readonly",
			fmt.Sprintf("type=tmpfs,target=%s,tmpfs-size=%d,tmpfs-mode=%04o", relay.Target, relay.TmpfsOptions.SizeBytes, relay.TmpfsOptions.Mode),
		},
		RunArgs:   []string{"--label", state.LabelDevcontainer + "=" + devcontainerID},
		RemoteEnv: map[string]string{"PATH": inject.WithShimDirs("${containerEnv:PATH}", len(p.Record.RuleCommands) > 0)},
	})
}

// said are those of the flags that were, as they would be typed again.
func said(flags *pflag.FlagSet) (words []string) {
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

// portable is a path below the home directory as anybody's tool finds it.
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

// idOfTool is what the tool makes of devcontainerID (devcontainers/spec, devcontainer-id-variable.md).
var idOfTool = names.Form{Chars: "A-Za-z0-9", Min: 1, Max: 128}

// building is how long an image may take to be built before its container is there, beyond
// what a provider's may.
const building = 50 * time.Minute

// startDevcontainer has the session of a dev container served that is about to be made, or started.
func startDevcontainer(ctx context.Context, dockerCLI command.Cli, opts *launch.Options, id string) error {
	if !idOfTool.Matches(id) {
		return cli.Hint(fmt.Errorf("--start %s: not the id of a dev container", names.Quoted(id)), "a tool that does not know "+devcontainerID+" is too old")
	}
	ctx, stop := cli.Interruptible(ctx, dockerCLI)
	defer stop()
	p, err := opts.Plan("", false)
	if err != nil {
		return err
	}
	s, err := openServices(ctx, dockerCLI, dockerCLI.Client())
	if err != nil {
		return err
	}
	defer s.close()
	p.Record.GlobalArgs, p.Record.Engine = cli.GlobalArgs(dockerCLI), dockerCLI.DockerEndpoint().Host
	p.Record.Service = &state.Service{Project: state.Devcontainers, Name: id}
	s.known(p)
	if err := s.hold(ctx, p); err != nil {
		return err
	}
	if err := linkShare(s.store, p.Record); err != nil {
		return err
	}
	return promise(s.store, p.Record.ID, building)
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/flags"
	"github.com/docker/docker/client"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// PluginName is the name of this plugin on docker's command line.
const PluginName = "hostexec"

// Standalone makes docker-hostexec run ... mean docker hostexec run ...: nobody else puts
// in the plugin's word, which docker/cli looks for. Behind docker's own flags it has to
// be given, for only there can it be told from their values.
func Standalone(args []string, alone bool) []string {
	if !alone || len(args) > 1 && args[1] == PluginName {
		return args
	}
	if len(args) > 1 && strings.HasPrefix(args[1], "-") && slices.Contains(args, PluginName) {
		return args
	}
	at := 1
	if len(args) > 1 && strings.HasPrefix(args[1], cobra.ShellCompRequestCmd) { // and ...NoDesc
		at = 2
	}
	return slices.Insert(slices.Clone(args), at, PluginName)
}

// ClientFlags are docker's own flags, before the plugin's word, which choose an engine.
func ClientFlags(args []string) (*flags.ClientOptions, *pflag.FlagSet, error) {
	set := pflag.NewFlagSet("docker", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SetInterspersed(false)
	opts := flags.NewClientOptions()
	opts.InstallFlags(set)
	if err := set.Parse(args); err != nil {
		return nil, nil, err
	}
	opts.SetDefaultOptions(set)
	return opts, set, nil
}

// GlobalArgs returns docker's flags that reach the engine which cli talks to. They are
// for the watcher, and for who asks later: by then, environment and context may be others.
func GlobalArgs(dockerCLI command.Cli) []string {
	return engineArgs(os.Args[1:], os.Getenv("DOCKER_HOST"), dockerCLI.CurrentContext())
}

func engineArgs(args []string, host, context string) []string {
	_, set, err := ClientFlags(args)
	if err != nil {
		return nil // docker/cli has parsed them before
	}
	given := slices.Clone(args[:len(args)-set.NArg()])
	switch {
	case set.Changed("host"), set.Changed("context"):
		return given
	case host != "":
		return append(given, "--host", host)
	case context != "" && context != command.DefaultContextName:
		return append(given, "--context", context)
	}
	return given
}

// PinEngine returns args, which reach the engine at endpoint, such that they reach it whatever DOCKER_HOST
// is when they are used.
func PinEngine(args []string, endpoint string) []string {
	_, set, err := ClientFlags(args)
	if err != nil || endpoint == "" || set.Changed("host") || set.Changed("context") {
		return args
	}
	return append(slices.Clone(args), "--host", endpoint)
}

// Connect returns a client of the engine that GlobalArgs reach.
func Connect(config *configfile.ConfigFile, globalArgs []string) (client.APIClient, error) {
	opts, _, err := ClientFlags(globalArgs)
	if err != nil {
		return nil, err
	}
	return command.NewAPIClientFromFlags(opts, config)
}

// WithoutPluginEnv returns env without the variables that docker sets for its plugins: processes of this plugin are
// none.
func WithoutPluginEnv(env []string) []string {
	return osenv.Without(env, "DOCKER_CLI_PLUGIN_")
}

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

// Standalone returns args with the plugin's name in front if alone is set: this program was started without docker. So
// "docker-hostexec run" equals "docker hostexec run": docker/cli expects the name. After docker's own flags the user
// must give it, because only the name separates the verb from the flags' values.
func Standalone(args []string, alone bool) []string {
	if !alone || len(args) > 1 && args[1] == PluginName {
		return args
	}
	if len(args) > 1 && strings.HasPrefix(args[1], "-") && slices.Contains(args, PluginName) {
		return args
	}
	at := 1
	if len(args) > 1 && strings.HasPrefix(args[1], cobra.ShellCompRequestCmd) { // also matches ShellCompNoDescRequestCmd
		at = 2
	}
	return slices.Insert(slices.Clone(args), at, PluginName)
}

// ClientFlags parses docker's own flags, which come before the plugin's name and choose an engine.
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

// GlobalArgs returns docker's flags for the engine of dockerCLI. The watcher and later verbs use them,
// because environment and context may have changed by then.
func GlobalArgs(dockerCLI command.Cli) []string {
	return engineArgs(os.Args[1:], os.Getenv("DOCKER_HOST"), dockerCLI.CurrentContext())
}

func engineArgs(args []string, host, context string) []string {
	_, set, err := ClientFlags(args)
	if err != nil {
		return nil // docker/cli has already parsed them
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

// PinEngine returns args with a flag for the engine at endpoint, so that a later DOCKER_HOST does not change
// the engine.
func PinEngine(args []string, endpoint string) []string {
	_, set, err := ClientFlags(args)
	if err != nil || endpoint == "" || set.Changed("host") || set.Changed("context") {
		return args
	}
	return append(slices.Clone(args), "--host", endpoint)
}

// Connect returns a client of the engine that globalArgs select.
func Connect(config *configfile.ConfigFile, globalArgs []string) (client.APIClient, error) {
	opts, _, err := ClientFlags(globalArgs)
	if err != nil {
		return nil, err
	}
	return command.NewAPIClientFromFlags(opts, config)
}

// WithoutPluginEnv returns env without the variables that docker sets for plugins. Processes of this plugin
// are not plugins.
func WithoutPluginEnv(env []string) []string {
	return osenv.Without(env, "DOCKER_CLI_PLUGIN_")
}

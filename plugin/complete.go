// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/command/completion"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/verb/with"
)

func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// directories completes directories.
func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// yamlFiles completes YAML files.
func yamlFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// ownFlags are the flags of run with a value that docker run does not have.
var ownFlags = []string{"proxy", "proxy-shell", "pass-env", "workspace", "workdir-host", "carrier", "http"}

// completions returns the completions of flags, by flag name.
func completions(dockerCLI command.Cli) map[string]cobra.CompletionFunc {
	times := fixed("5m", "15m", "1h", "8h", "24h")
	short := fixed("500ms", "10s", "1m", "5m")
	return map[string]cobra.CompletionFunc{
		"proxy": launch.CompleteProxy, "proxy-shell": fixed("allow", "ask", "deny", "allow,where=sandbox", "ask,where=sandbox"),
		"pass-env": completeEnv, "env": completeEnv,
		"service": with.CompleteServices(dockerCLI), "listen": cli.CompleteFiles,
		"workspace": directories, "workdir-host": directories, "cwd": directories, "dir": directories, "volume": directories,
		"config": yamlFiles, "in": completion.ContainerNames(dockerCLI, false), "carrier": fixed("auto", "socket", "relay", "files"), "mode": fixed("process", "container"),
		"image": completion.ImageNames(dockerCLI, 1), "network": completion.NetworkNames(dockerCLI), "format": fixed("json"),
		"for": times, "since": times, "timeout": short, "shutdown-grace": short, "tail": fixed("all", "10", "100", "1000"),
		"signal": fixed(job.Signals()...), "memory": fixed("512m", "1g", "2g", "4g"), "cpus": fixed("0.5", "1", "2", "4"),
	}
}

// completeFlags adds completions to the flags of cmd and its verbs that take a value and have none. The
// completion depends on the flag's name, which means the same in all verbs. Flags such as a reason or a number
// have no completion.
func completeFlags(cmd *cobra.Command, byName map[string]cobra.CompletionFunc) {
	ofDocker := func(flag string) bool { return cmd.Name() == "run" && !slices.Contains(ownFlags, flag) } // docker has completed them
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, has := cmd.GetFlagCompletionFunc(f.Name); has || f.Value.Type() == "bool" || ofDocker(f.Name) {
			return
		}
		complete := byName[f.Name]
		if complete == nil {
			complete = cobra.NoFileCompletions
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it exists, and has no completion
	})
	for _, sub := range cmd.Commands() {
		completeFlags(sub, byName)
	}
}

func completeEnv(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const policyExplainLong = `Show how a request would be decided, by which rule, and why the other rules do not match

explain uses the configuration of the current directory, with its proxied commands (proxies:).
With --session it uses the session's configuration and --proxy flags. Nothing runs, and nobody
is asked.

EXIT STATUS
  0  the decision was shown, also if it is a denial
  1  the request could not be decided`

const policyExplainExample = `  docker hostexec policy explain -- git push origin main
  docker hostexec policy explain --session web -- make test`

func newPolicyExplainCommand(dockerCLI command.Cli) *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:               "explain [OPTIONS] [--] COMMAND [ARG...]",
		Short:             "Show how a request would be decided, and why",
		Long:              policyExplainLong,
		Example:           policyExplainExample,
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: launch.CompleteCommand,
		RunE: cli.Verb(func(_ *cobra.Command, args []string) error {
			p, err := policyOf(dockerCLI, session)
			if err != nil {
				return err
			}
			return explain(names.ASCIIWriter(dockerCLI.Out()), p, args)
		}),
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringVar(&session, "session", "", "Decide as for this `session`, named by its id or its container")
	_ = cmd.RegisterFlagCompletionFunc("session", sessions.Complete)
	return cmd
}

// policyOf returns the policy of a session, or of the current directory.
func policyOf(dockerCLI command.Cli, session string) (*policy.Policy, error) {
	if session == "" {
		_, c, err := loadCurrent(dockerCLI)
		if err != nil {
			return nil, err
		}
		return inDirectory(c)
	}
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	rec, err := store.Find(session)
	if err != nil {
		return nil, err
	}
	c := config.Load(config.Source{Store: store.Home, Project: rec.InvokedIn, Workspace: rec.Workspace})
	return c.SessionPolicy(&rec), nil
}

// inDirectory returns the policy of a run without --proxy.
func inDirectory(c *config.Config) (*policy.Policy, error) {
	commands, err := launch.ConfiguredCommands(c)
	all := config.PolicyCommands(commands)
	for i := range all {
		all[i].Position = c.Proxies[i].Position
	}
	return c.Policy(all), err
}

func explain(w io.Writer, p *policy.Policy, args []string) error {
	v, results := p.Explain(policy.Request{Args: args, GitDirReadOnly: true})
	fmt.Fprintln(w, names.Escaped(policy.CommandLine(args)+": "+outcome(v)))
	if v.Action != policy.Deny {
		facts(w, v)
	}
	if other := p.Decide(policy.Request{Args: args}); other.Action != v.Action {
		fmt.Fprintf(w, "  %s where the container can write .git\n", other.Action)
	}
	if len(results) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "RULE\tACTION\tWHY\tWHERE")
	for _, t := range results {
		why := t.Why
		if t.Decides {
			why = strings.TrimSuffix("decides: "+t.Why, ": ")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", names.Escaped(t.Name), t.Action, names.Escaped(why), names.Escaped(t.Position))
	}
	return table.Flush()
}

func outcome(v policy.Verdict) string {
	if v.Action == policy.Deny {
		return "deny: " + v.Reason
	}
	if v.AskReason != "" {
		return v.Action.String() + " by " + v.Rule + ", which allows it, but " + v.AskReason
	}
	return v.Action.String() + " by " + v.Rule
}

// facts prints the program, directory and environment of the request.
func facts(w io.Writer, v policy.Verdict) {
	program := v.Command.Path
	if program == "" {
		program = v.Args[0] // looked up in PATH when a session starts
	}
	text := v.Args[len(v.Args)-1]
	switch in := v.TargetContainer(); {
	case in != "":
		fmt.Fprintln(w, names.Escaped("  runs in a shell of container "+in+": "+text))
	case v.Args[0] == policy.Shell && len(v.Args) > 1:
		fmt.Fprintln(w, names.Escaped("  runs in a shell, "+program+": "+text))
	default:
		fmt.Fprintln(w, names.Escaped("  runs "+policy.CommandLine(append([]string{program}, v.Args[1:]...))))
	}
	if v.Place.InContainer() {
		fmt.Fprintln(w, names.Escaped(strings.TrimSuffix("  in a fresh container of "+v.Place.Image+", "+v.Place.Limits(), ", ")))
	}
	if v.Place.Sandboxed {
		fmt.Fprintln(w, "  in a sandbox: it reaches the container's directories, and what the configuration opens")
	}
	if g := v.Grade; g.MayRunCode() {
		fmt.Fprintln(w, "  "+g.Label()+": "+g.SentenceForOne())
	}
	if v.Action == policy.Ask && len(v.Preview) > 0 {
		fmt.Fprintln(w, names.Escaped("  before the question, in a sandbox that can write nothing: "+policy.CommandLine(v.PreviewArgs())))
	}
	if len(v.Effects) > 0 {
		fmt.Fprintln(w, "  effects: "+names.Escaped(strings.Join(v.Effects, ", ")))
	}
	if v.Keep {
		fmt.Fprintln(w, "  its jobs may outlive the container, with --keep")
	}
	if v.Streams.Whole {
		fmt.Fprintln(w, "  as a local process: terminal, standard input, no limits")
	}
}

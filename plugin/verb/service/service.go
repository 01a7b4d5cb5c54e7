// SPDX-License-Identifier: Apache-2.0

// Package service has the verb service, which makes the host's service manager resume sessions at login.
package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

const serviceLong = `Install a service that resumes sessions at login

A reboot or a logout ends the watchers. Afterwards, containers with a restart policy run again,
but their calls fail until docker hostexec resume. The service runs docker hostexec resume
--all --watch, as a systemd user unit on Linux and as a launchd agent on macOS. It does not
resume sessions that docker hostexec stop has ended.`

const serviceStatus = `

EXIT STATUS
  0  it succeeded, or there was nothing to do
  1  it failed; a line on stderr says why`

// NewCommand returns the verb service.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "service",
		Short:   "Resume sessions at login",
		Long:    serviceLong + serviceStatus,
		Example: "  docker hostexec service install",
		Args:    cli.NoArgs,
		RunE:    command.ShowHelp(dockerCLI.Err()),
	}
	cmd.AddCommand(newServiceInstallCommand(dockerCLI), newServiceUninstallCommand(dockerCLI), newServiceStatusCommand(dockerCLI))
	return cmd
}

func newServiceInstallCommand(dockerCLI command.Cli) *cobra.Command {
	var show bool
	var kind string
	cmd := &cobra.Command{
		Use:   "install [OPTIONS]",
		Short: "Write the systemd unit or launchd agent",
		Long: `Write the systemd user unit, or the launchd agent, that resumes sessions

The service starts at the next login. The command that is printed on stderr starts it now. The
file contains HOSTEXEC_HOME, DOCKER_CONFIG and PATH, and the engine that docker uses now, unless
that is the one of docker's default context. Commands are searched for in that PATH. An
installed service is replaced.` + serviceStatus,
		Example: `  docker hostexec service install
  docker hostexec service install --print --manager launchd`,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(*cobra.Command, []string) error {
			m, err := managerOf(kind)
			if err != nil {
				return err
			}
			resume, err := resumeService(dockerCLI)
			if err != nil {
				return err
			}
			text, err := m.text(resume)
			if err != nil {
				return err
			}
			if show {
				fmt.Fprint(dockerCLI.Out(), text)
				return nil
			}
			return install(dockerCLI, m, text)
		}),
	}
	cmd.Flags().BoolVar(&show, "print", false, "Print the file instead of writing it")
	managerFlag(cmd, &kind)
	return cmd
}

func newServiceUninstallCommand(dockerCLI command.Cli) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   "uninstall [OPTIONS]",
		Short: "Remove the systemd unit or launchd agent",
		Long: `Remove what docker hostexec service install has written

Sessions continue. If the service runs, the command that is printed on stderr stops it.` + serviceStatus,
		Example:           "  docker hostexec service uninstall",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Verb(func(*cobra.Command, []string) error {
			m, err := managerOf(kind)
			if err != nil {
				return err
			}
			return uninstall(dockerCLI, m)
		}),
	}
	managerFlag(cmd, &kind)
	return cmd
}

// service is the program that a service manager runs.
type service struct {
	argv []string // the first is absolute
	env  []string // NAME=VALUE
}

// serviceEnv are the variables that select the engine, the state directory and the programs. Docker's host
// and context are arguments.
var serviceEnv = []string{"PATH", "HOSTEXEC_HOME", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION"}

// isPath are the variables with a directory, which must be absolute for a service.
var isPath = map[string]bool{"HOSTEXEC_HOME": true, "DOCKER_CONFIG": true, "DOCKER_CERT_PATH": true}

func resumeService(dockerCLI command.Cli) (service, error) {
	exe, err := thisProgram()
	if err != nil {
		return service{}, err
	}
	s := service{argv: append(append([]string{exe}, cli.GlobalArgs(dockerCLI)...), cli.PluginName, "resume", "--all", "--watch")}
	for _, name := range serviceEnv {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		if isPath[name] {
			if value, err = filepath.Abs(value); err != nil {
				return s, err
			}
		}
		s.env = append(s.env, name+"="+value)
	}
	return s, nil
}

// thisProgram returns the path by which this program was started. It may be a link that will lead to the next
// version.
func thisProgram() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	self, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if named, err := os.Stat(os.Args[0]); err == nil && filepath.IsAbs(os.Args[0]) && os.SameFile(self, named) {
		return filepath.Clean(os.Args[0]), nil
	}
	return exe, nil
}

// serviceManager describes a system's service manager.
type serviceManager struct {
	name          string
	file          func() (string, error) // returns the path of the service's file
	link          string                 // the link beside the file that enables the service at login; "" for none
	text          func(service) (string, error)
	mark          string                   // a text that every file of install contains
	startCommand  func(file string) string // returns the command to type
	stopCommand   func(file string) string
	statusCommand []string // a command that exits with 0 if the service runs
}

// managers are the supported service managers by GOOS.
var managers = map[string]serviceManager{"linux": systemd, "darwin": launchd}

func managerOf(kind string) (serviceManager, error) {
	for goos, m := range managers {
		if m.name == kind || kind == "" && goos == runtime.GOOS {
			return m, nil
		}
	}
	if kind == "" {
		return serviceManager{}, cli.Hint(errors.New("not supported on "+runtime.GOOS+": there are systemd and launchd"),
			"start docker hostexec resume --all --watch at login by other means")
	}
	return serviceManager{}, fmt.Errorf("--manager %s: there are systemd and launchd", names.Quoted(kind))
}

func managerFlag(cmd *cobra.Command, kind *string) {
	cmd.Flags().StringVar(kind, "manager", "", "The service manager: `systemd|launchd` (default: this system's)")
	_ = cmd.RegisterFlagCompletionFunc("manager", cobra.FixedCompletions([]string{"systemd", "launchd"}, cobra.ShellCompDirectiveNoFileComp))
}

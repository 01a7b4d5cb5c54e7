// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli-plugins/manager"
	"github.com/docker/cli/cli-plugins/metadata"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// composeTool is docker compose, the plugin, started as docker starts it.
type composeTool struct {
	path   string
	global []string // docker's own flags
}

func findCompose(dockerCLI command.Cli) (*composeTool, error) {
	p, err := manager.GetPlugin("compose", dockerCLI, &cobra.Command{})
	if err == nil && p.Err != nil {
		err = p.Err
	}
	switch {
	case errdefs.IsNotFound(err):
		return nil, cli.Hint(errors.New("docker compose is not installed (docker-compose 1.x will not do)"), "docker compose version")
	case err != nil:
		return nil, cli.Hint(fmt.Errorf("docker compose: %w", err), "docker compose version")
	}
	return &composeTool{path: p.Path, global: cli.GlobalArgs(dockerCLI)}, nil
}

// argv is what docker would start it with.
func (c *composeTool) argv(args []string) []string {
	return slices.Concat([]string{c.path}, c.global, []string{"compose"}, args)
}

// environ is what docker would give it: it takes the first of its arguments for docker's.
func (c *composeTool) environ() []string {
	env := os.Environ()
	if os.Getenv(metadata.ReexecEnvvar) == "" {
		env = append(env, metadata.ReexecEnvvar+"=docker")
	}
	return env
}

// child is compose for something that it is to say, or do, before the person's command.
func (c *composeTool) child(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.path, c.argv(args)[1:]...)
	cmd.Env = slices.DeleteFunc(c.environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "DOCKER_CLI_PLUGIN_SOCKET=") // docker's word is for us
	})
	return cmd
}

// ask returns what compose prints. What it says when it fails is passed on, and its code.
func (c *composeTool) ask(ctx context.Context, args []string) ([]byte, error) {
	return c.answer(ctx, args, "")
}

// answer is ask, with a text for compose to read on stdin.
func (c *composeTool) answer(ctx context.Context, args []string, in string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := c.child(ctx, args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errs
	err := composeEnd(cmd.Run(), &errs)
	return out.Bytes(), err
}

// do has compose do something, which the person sees on stderr.
func (c *composeTool) do(ctx context.Context, args []string) error {
	cmd := c.child(ctx, args)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return composeEnd(cmd.Run(), new(bytes.Buffer))
}

// composeEnd is how compose ended, as an error that ends us the same way.
func composeEnd(err error, said *bytes.Buffer) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if code < 0 {
		code = cli.CodeRun
	}
	return composeStatus{dockercli.StatusError{Status: strings.TrimRight(said.String(), "\n"), StatusCode: code}}
}

// composeStatus is an end that is compose's, in its own words.
type composeStatus struct{ dockercli.StatusError }

func (s composeStatus) Unwrap() error { return s.StatusError }

func composeEnded(err error) bool {
	var s composeStatus
	return errors.As(err, &s)
}

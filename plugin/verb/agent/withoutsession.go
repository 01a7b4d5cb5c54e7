// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/docker-hostexec/hostexec/plugin/agent"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// withoutSession runs an agent without commands as a child of this process. It is the only mode on systems that cannot
// serve sessions.
func (r *agentRun) withoutSession(ctx context.Context, program string) error {
	if len(r.plan.Record.Commands) > 0 || r.plan.Record.Shell != nil {
		return fmt.Errorf("an agent cannot call commands on %s yet: omit --proxy and proxies", runtime.GOOS)
	}
	in, piped, err := r.stdin(r.plan.Record.Workspace)
	if err != nil {
		return err
	}
	if piped {
		defer in.Close()
	}
	cmd := exec.CommandContext(ctx, program, r.spec.Args[1:]...)
	cmd.Args[0] = r.spec.Args[0]
	cmd.Dir, cmd.Env = r.plan.Record.Workspace, agent.SetEnv(os.Environ(), r.spec.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = watch.AgentGrace
	err = cmd.Run()
	var status *exec.ExitError
	if errors.As(err, &status) && status.Exited() {
		return exit(status.ExitCode(), nil)
	}
	return err
}

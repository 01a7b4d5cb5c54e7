// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/agent"
)

// alone runs an agent that may call nothing as a child of this process: where sessions of
// containers cannot be served, it needs none.
func (r *agentRun) alone(ctx context.Context, program string) error {
	if len(r.plan.rec.Commands) > 0 || r.plan.rec.Shell != nil {
		return fmt.Errorf("an agent cannot call commands on %s: leave --proxy and proxies out", runtime.GOOS)
	}
	in, fed, err := r.stdin(r.plan.rec.Workspace)
	if err != nil {
		return err
	}
	if fed {
		defer in.Close()
	}
	cmd := exec.CommandContext(ctx, program, r.spec.Args[1:]...)
	cmd.Args[0] = r.spec.Args[0]
	cmd.Dir, cmd.Env = r.plan.rec.Workspace, agent.Set(os.Environ(), r.spec.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	var status *exec.ExitError
	if errors.As(err, &status) {
		if ws, ok := status.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return exit(128+int(ws.Signal()), nil)
		}
		return exit(status.ExitCode(), nil)
	}
	return err
}

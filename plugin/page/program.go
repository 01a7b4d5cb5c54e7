// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A container can cause the start of a host program for the page by asking a question. It may have put a
// program of the same name into a directory of PATH. Therefore the program is found and runs without
// values that containers can write, as commands do.

// hostCommand returns a command for the host's program name with args.
func hostCommand(ctx context.Context, s *state.Store, name string, args ...string) (*exec.Cmd, error) {
	env, err := environ(s)
	if err != nil {
		return nil, err
	}
	at, ok := osenv.LookPath(name, osenv.Get(env, "PATH"))
	if !ok {
		return nil, fmt.Errorf("no %s", name)
	}
	cmd := exec.CommandContext(ctx, at, args...)
	cmd.Env = env
	return cmd, nil
}

// environ returns this process's environment without the values that code of any session can write.
func environ(s *state.Store) ([]string, error) {
	writes, err := s.WritableByOthers("")
	if err != nil {
		return nil, err
	}
	env, _ := hostcode.Environ(os.Environ(), mount.WritableTable(writes.All()))
	return env, nil
}

// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A container has a program of this host's started for the page by asking for something, and may
// by then have put one of the same name into a directory of PATH. So the program is found, and
// runs, without what containers supply, as commands do.

// program returns the program name of this host's, to be started with args.
func program(ctx context.Context, s *state.Store, name string, args ...string) (*exec.Cmd, error) {
	env, err := environ(s)
	if err != nil {
		return nil, err
	}
	for _, kv := range env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		if at, ok := executor.LookPath(name, path); ok {
			cmd := exec.CommandContext(ctx, at, args...)
			cmd.Env = env
			return cmd, nil
		}
	}
	return nil, fmt.Errorf("no %s", name)
}

// environ is this process's environment without what the container of any session can write.
func environ(s *state.Store) ([]string, error) {
	recs, err := s.List()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, rec := range recs {
		all = append(all, rec.Writable...)
	}
	env, _ := executor.Environ(os.Environ(), dir.Written(all))
	return env, nil
}

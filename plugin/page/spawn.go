// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Start starts the user's page in the background, if there is none, and does not wait for it. Such a page opens a
// browser when a question comes, and ends by itself some minutes after the last session and the last browser have
// gone. When two are started at once, one ends again.
//
// A keeper ends all that descends from it, and what descends from it may not answer: the caller has to be outside of
// any, as run and resume are and a watcher is not.
func Start(s *state.Store) error {
	if !free(s) {
		return nil
	}
	if err := spawn(s); err != nil {
		return fmt.Errorf("start the page: %w", err)
	}
	return nil
}

// spawn starts a page as a process of its own, which outlives this one.
func spawn(s *state.Store) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, "hostexec", "ui", "--background")
	cmd.Dir = s.Home
	cmd.Env = append(cleaned(os.Environ()), "HOSTEXEC_HOME="+s.Home)
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	// ends with the page, which is meant to outlive this process.
	go cmd.Wait()
	return nil
}

// cleaned is env without what docker and hostexec tell their own processes: docker's
// plugin socket would end the page with docker.
func cleaned(env []string) (out []string) {
	for _, kv := range env {
		if !strings.HasPrefix(kv, "DOCKER_CLI_PLUGIN_") && !strings.HasPrefix(kv, "HOSTEXEC_") {
			out = append(out, kv)
		}
	}
	return out
}

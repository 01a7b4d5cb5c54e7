// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Start starts the user's page in the background if there is none, and does not wait for it. The page
// opens a browser when a question arrives. It ends some minutes after the last session and the last
// browser have ended. If two pages are started at once, one of them ends again.
//
// The caller must not be below a keeper, so run and resume may call it, but a watcher may not. A keeper
// ends all its descendants, and its descendants may not answer questions.
func Start(s *state.Store) error {
	if !state.LockFree(lockFile(s)) {
		return nil
	}
	if err := spawn(s); err != nil {
		return fmt.Errorf("start the page: %w", err)
	}
	return nil
}

// spawn starts a page as a separate process, which outlives this one.
func spawn(s *state.Store) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, "hostexec", "ui", "--background")
	cmd.Dir = s.Home
	cmd.Env = append(osenv.Without(os.Environ(), "DOCKER_CLI_PLUGIN_", "HOSTEXEC_"), "HOSTEXEC_HOME="+s.Home)
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	// Ends with the page, which may outlive this process.
	go cmd.Wait()
	return nil
}

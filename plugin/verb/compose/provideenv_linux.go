// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// BeginAnew becomes this program again, with compose's own environment. It returns only if it
// cannot.
func BeginAnew(args []string) error {
	parent := os.Getppid()
	if parent == 0 { // of another PID namespace
		return errors.New("docker compose is not to be seen")
	}
	// Nobody else can read it, and we can: it is of the same user. It is as it was at exec(2).
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", parent))
	if err != nil {
		return err
	}
	if os.Getppid() != parent {
		return errors.New("docker compose has gone")
	}
	env, err := ownEnviron(string(text))
	if err != nil {
		return err
	}
	words := append([]string{providerName}, args[1:]...)
	return os.NewSyscallError("execve", unix.Exec("/proc/self/exe", words, env))
}

// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Environ returns the environment of an agent on this host. It consists of base and add, with the shims'
// directory first in PATH, and HOSTEXEC_DIR, where the shims find the host. If hasRules is set, the directory of
// commands that only have rules is last in PATH. It returns an error if share cannot hold a socket, or cannot be in PATH.
func Environ(base, add []string, share string, hasRules bool) ([]string, error) {
	if sock := filepath.Join(share, "socket"); len(sock) > state.MaxSocketPath || strings.Contains(share, ":") {
		return nil, &Error{Type: Failed, Message: fmt.Sprintf("%s is too long for a socket, or has a colon: an agent could not call commands", sock), Hint: "set HOSTEXEC_HOME to a shorter path"}
	}
	env := SetEnv(base, add)
	dirs := []string{filepath.Join(share, "bin")}
	if path := osenv.Get(env, "PATH"); path != "" {
		dirs = append(dirs, path)
	}
	if hasRules {
		dirs = append(dirs, filepath.Join(share, "rules"))
	}
	return SetEnv(env, []string{"PATH=" + strings.Join(dirs, string(filepath.ListSeparator)), "HOSTEXEC_DIR=" + share}), nil
}

// SetEnv returns base with the variables of add, which replace those with the same names. It removes the
// variables that docker sets for plugins.
func SetEnv(base, add []string) []string {
	return osenv.Set(osenv.Without(base, "DOCKER_CLI_PLUGIN_"), add...)
}

// Program finds the agent's program. It uses the PATH without the session's shims, because the program
// must not be one of them.
func (s *Spec) Program(base []string) (string, error) {
	name := s.Args[0]
	if strings.ContainsRune(name, filepath.Separator) {
		if err := osenv.CheckProgram(name); err != nil {
			return "", &Error{Type: CommandNotFound, Message: fmt.Sprintf("agent command %s: %v", names.Quoted(name), err), Hint: "write the path of a program in agent.command", Cause: err}
		}
		return filepath.Abs(name)
	}
	err := fmt.Errorf("no directory of PATH contains it")
	for dir := range osenv.Dirs(osenv.Get(SetEnv(base, s.Env), "PATH")) {
		path, lerr := exec.LookPath(filepath.Join(dir, name))
		if lerr == nil {
			return path, nil
		}
		if !os.IsNotExist(lerr) {
			err = lerr
		}
	}
	return "", notFound(name, err)
}

func notFound(name string, cause error) error {
	return &Error{Type: CommandNotFound, Message: fmt.Sprintf("agent command '%s' not found in PATH", names.Escaped(name)), Hint: "install it on this host, or write its path in agent.command", Cause: cause}
}

// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package shim

import "syscall"

// Called reports whether a program that is other things too was started as a shim: by the name
// of a command that the directory HOSTEXEC_DIR has.
func Called(args, env []string) bool {
	dir := variable(env, "HOSTEXEC_DIR")
	if dir == "" || len(args) == 0 {
		return false
	}
	name := args[0]
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			name = name[i+1:]
			break
		}
	}
	const plugin = "docker-hostexec"
	if name == "" || len(name) >= len(plugin) && name[:len(plugin)] == plugin {
		return false
	}
	var st syscall.Stat_t
	return syscall.Lstat(dir+"/bin/"+name, &st) == nil
}

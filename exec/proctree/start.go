// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package proctree

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Start says how a process is started.
type Start struct {
	ID       string // of the request, for Marker
	Path     string // absolute
	Args     []string
	Env      []string
	Dir      int    // a held directory; 0 is the one that this process is in
	Files    [3]int // become 0, 1 and 2; all there is
	TTY      bool   // Files[0] becomes the controlling terminal, under a monitor
	NewPrivs bool   // setuid programs work
	Leave    bool   // what it leaves running outlives this process
}

// marked returns env with the marker of a request, and none of another's.
func marked(env []string, id string) []string {
	list := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, Marker+"=") && !strings.HasPrefix(kv, LeaveMarker+"=") {
			list = append(list, kv)
		}
	}
	return append(list, Marker+"="+id)
}

// forkExec is syscall.ForkExec which, like execvp(3) and every shell, has /bin/sh run
// what the kernel takes for no program: a script without #!.
func forkExec(path string, args []string, attr *syscall.ProcAttr) (int, error) {
	pid, err := syscall.ForkExec(path, args, attr)
	if err != syscall.ENOEXEC {
		return pid, err
	}
	script := append([]string{"/bin/sh", path}, args[min(1, len(args)):]...)
	return syscall.ForkExec("/bin/sh", script, attr)
}

// descriptor is f.Fd(), which would make f blocking, here and at whoever shares it.
func descriptor(f *os.File) (fd uintptr) {
	conn, err := f.SyscallConn()
	if err != nil {
		return ^uintptr(0)
	}
	conn.Control(func(n uintptr) { fd = n })
	return fd
}

func refuse(err error) int {
	fmt.Fprintln(os.Stderr, "hostexec:", err)
	return 125
}

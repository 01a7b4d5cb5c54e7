// SPDX-License-Identifier: Apache-2.0

package dirtest

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OwnMounts runs the calling test again in a mount namespace of its own, and reports whether this is that
// run. Other processes do not see its mounts.
func OwnMounts(t *testing.T) bool {
	t.Helper()
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if !rerun(t, "DIRTEST_OWN_MOUNTS", attr) {
		return false
	}
	Mount(t, "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	return true
}

// Mount mounts source at target until the test ends (mount(2)).
func Mount(t *testing.T, source, target, kind string, flags uintptr, options string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		t.Fatalf("mount %s at %s: %v", source, target, err)
	}
	if target != "/" {
		t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
	}
}

// WithoutOpenat2 runs the calling test again in a process whose calls of openat2(2) fail with ENOSYS, and
// reports whether this is that run.
func WithoutOpenat2(t *testing.T) bool {
	t.Helper()
	if !rerun(t, "DIRTEST_WITHOUT_OPENAT2", nil) {
		return false
	}
	runtime.LockOSThread() // the filter needs no_new_privs, which is the thread's, unless root installs it
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	filter := []unix.SockFilter{ // seccomp(2)
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_OPENAT2, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		t.Fatalf("seccomp: %v", errno)
	}
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH}); err != unix.ENOSYS {
		t.Fatalf("openat2: %v, want %v", err, unix.ENOSYS)
	}
	return true
}

// rerun runs the calling test in a new process, and reports whether this is that process.
func rerun(t *testing.T, mark string, attr *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv(mark) != "" {
		return true
	}
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run="+strings.Join(parts, "/"), "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

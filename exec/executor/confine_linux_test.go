// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// confined is a command that a test confines to a workspace.
type confined struct {
	host      *Host
	workspace string // may be written
	secrets   string // may not even be read
}

// newConfined returns nil on a kernel that cannot confine programs. There, nothing is prepared.
func newConfined(t testing.TB) *confined {
	t.Helper()
	if sandbox.Supported() != nil {
		if _, err := sandbox.Prepare(sandbox.Spec{}); !errors.Is(err, sandbox.ErrUnsupported) {
			t.Errorf("Prepare = %v, want ErrUnsupported", err)
		}
		return nil
	}
	c := &confined{host: newHost(t), workspace: t.TempDir(), secrets: t.TempDir()}
	for _, dir := range []string{c.workspace, c.secrets} {
		if err := os.WriteFile(filepath.Join(dir, "canary"), []byte("alive\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// sandbox returns a sandbox that also permits this test program.
func (c *confined) sandbox(t testing.TB, n sandbox.Net) *sandbox.Sandbox {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	work, err := unix.Open(c.workspace, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Prepare(sandbox.Spec{
		Grants: []sandbox.Grant{{FD: work, Access: sandbox.Write}},
		Paths:  append(slices.Clone(sandbox.System), sandbox.Path{Name: self, Access: sandbox.Execute}),
		Net:    n,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); unix.Close(work) })
	return s
}

// run runs a shell script in the workspace.
func (c *confined) run(t testing.TB, s *sandbox.Sandbox, script string, env ...string) (Status, string) {
	t.Helper()
	cmd := sh(t, script)
	cmd.Sandbox = s
	cmd.Env = append(cmd.Env, env...)
	dir, err := unix.Open(c.workspace, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	cmd.Dir = dir
	var out strings.Builder
	streams := none()
	streams.Out, streams.Err = &out, &out
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := c.host.Run(ctx, cmd, streams)
	if err != nil {
		t.Fatal(err)
	}
	return st, out.String()
}

// TestConfinedWorks runs scripts as builds do, in a directory that may be written.
func TestConfinedWorks(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	s := c.sandbox(t, sandbox.Net{})
	for _, tt := range []struct{ script, want string }{
		{"cat canary; echo new >file; cat file", "alive\nnew\n"},
		{"mkdir -p d/e && mv d/e d/f && ln -s f d/g && rm -r d && echo gone", "gone\n"},
		{"chmod 640 canary && stat -c %a canary; chmod 4755 . 2>&1; stat -c %a .", "640\n4755\n"},
		{"touch -d @1000 canary && stat -c %Y canary; cp -p canary copy && stat -c %Y copy", "1000\n1000\n"},
		{"cp -a canary a && ln -s a l && touch -h -d @5 l && stat -c %Y l", "5\n"},
		{"seq 1000 | sort -n | tail -1; echo err >/dev/stderr; echo x >/dev/null", "1000\nerr\n"},
		{"(sleep 0.01; echo child) & wait; kill -0 $$ && echo own", "child\nown\n"},
		{"printf '#!/bin/sh\\necho built\\n' >tool; chmod +x tool; ./tool", "built\n"},
		{"chown $(id -u):$(id -g) canary && echo owned", "owned\n"},
		{"tar -cf x.tar canary && mkdir -p u && tar -xpf x.tar -C u && cat u/canary", "alive\n"},
	} {
		if st, out := c.run(t, s, tt.script); st.Code != 0 || out != tt.want {
			t.Errorf("%s: %+v, %q, want %q", tt.script, st, out, tt.want)
		}
	}
}

// TestConfinedTerminal runs a command on a terminal, under a monitor.
func TestConfinedTerminal(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	var out strings.Builder
	cmd := sh(t, "test -t 0 && echo terminal >/dev/tty; cat "+c.secrets+"/canary; exit 3")
	cmd.Sandbox = c.sandbox(t, sandbox.Net{})
	s := none()
	s.Out, s.TTY = &out, &Winsize{24, 80, 0, 0}
	st, err := c.host.Run(context.Background(), cmd, s)
	if err != nil || st.Code != 3 || !strings.Contains(out.String(), "terminal") || strings.Contains(out.String(), "alive") {
		t.Errorf("%+v, %v, %q", st, err, out.String())
	}
}

// TestConfinedHostile runs attacks from inside, each of which has to fail. The canaries stay as they were.
//
// Attack 239.
func TestConfinedHostile(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	socket, err := net.Listen("unix", filepath.Join(c.workspace, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	abstract, err := net.Listen("unix", "@hostexec-test-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	link := filepath.Join(c.workspace, "link")
	if err := os.Symlink(filepath.Join(c.secrets, "canary"), link); err != nil {
		t.Fatal(err)
	}
	before, err := os.Lstat(filepath.Join(c.secrets, "canary"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []sandbox.Net{{}, {Ports: []uint16{1}}} {
		s := c.sandbox(t, n)
		for name := range attacks {
			st, out := c.run(t, s, "exec "+self, "EXECUTOR_TEST_AS=hostile", "ATTACK="+name, "SECRETS="+c.secrets, "LINK="+link,
				"WATCHER="+strconv.Itoa(os.Getpid()), "TCP="+tcp.Addr().String(), "SOCKET="+socket.Addr().String(), "ABSTRACT="+abstract.Addr().String())
			if st.Code != 0 || !strings.HasPrefix(out, "refused: ") {
				t.Errorf("net %+v: %s: %+v, %q", n, name, st, out)
			}
		}
	}
	after, err := os.Lstat(filepath.Join(c.secrets, "canary"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(c.secrets, "canary")); err != nil || string(text) != "alive\n" ||
		after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the canary has changed: %q, %v, %v", text, after, err)
	}
}

// TestConfinesNoThreadOfOurs checks that no thread of this process is confined after a confined command has run.
//
// Attack 239.
func TestConfinesNoThreadOfOurs(t *testing.T) {
	c := newConfined(t)
	if c == nil {
		return
	}
	c.run(t, c.sandbox(t, sandbox.Net{}), "true")
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatal(tasks, err)
	}
	for _, name := range tasks {
		if text, err := os.ReadFile(name); err == nil && !strings.Contains(string(text), "Seccomp:\t0\n") {
			t.Errorf("%s has a filter", name)
		}
	}
	if _, err := os.ReadFile(filepath.Join(c.secrets, "canary")); err != nil {
		t.Error(err)
	}
}

// hostileMain tries one attack, and says whether it was refused.
func hostileMain() int {
	err := attacks[os.Getenv("ATTACK")]()
	if err == nil {
		fmt.Print("done")
		return 1
	}
	fmt.Print("refused: ", err)
	return 0
}

// attacks is what a hostile build could try, by name. An attack that returns no error has succeeded.
var attacks = map[string]func() error{
	"read":           func() error { _, err := os.ReadFile(secret()); return err },
	"read by a link": func() error { _, err := os.ReadFile(os.Getenv("LINK")); return err },
	"list":           func() error { _, err := os.ReadDir(os.Getenv("SECRETS")); return err },
	"write":          func() error { return os.WriteFile(secret(), nil, 0) },
	"create":         func() error { return os.WriteFile(os.Getenv("SECRETS")+"/new", nil, 0o600) },
	"truncate":       func() error { return os.Truncate(secret(), 0) },
	"remove":         func() error { return os.Remove(secret()) },
	"rename":         func() error { return os.Rename(secret(), "taken") },
	"link":           func() error { return os.Link(secret(), "taken") },
	"exchange": func() error {
		return unix.Renameat2(unix.AT_FDCWD, secret(), unix.AT_FDCWD, "canary", unix.RENAME_EXCHANGE)
	},
	"device":          func() error { return unix.Mknod("disk", unix.S_IFBLK|0o600, 8) },
	"chmod":           func() error { return os.Chmod(secret(), 0o777) },
	"chmod by a link": func() error { return os.Chmod(os.Getenv("LINK"), 0o777) },
	"chmod directory": func() error { return os.Chmod(os.Getenv("SECRETS"), 0o777) },
	"fchmod": func() error {
		fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Fchmod(fd, 0o644)
	},
	"fchmodat2": func() error {
		fd, err := unix.Open(os.Getenv("SECRETS"), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return unix.Fchmodat(fd, "canary", 0o777, unix.AT_SYMLINK_NOFOLLOW)
	},
	"chmod by proc": func() error {
		fd, err := unix.Open(secret(), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o777)
	},
	"chown":  func() error { return os.Lchown(secret(), 0, 0) },
	"utimes": func() error { return os.Chtimes(secret(), time.Unix(1, 0), time.Unix(1, 0)) },
	"xattr":  func() error { return unix.Setxattr(secret(), "user.x", nil, 0) },
	"tcp":    func() error { return dial("tcp", os.Getenv("TCP")) },
	"fast open": func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		addr, err := net.ResolveTCPAddr("tcp", os.Getenv("TCP"))
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte{127, 0, 0, 1}})
	},
	"mptcp":  func() error { return socket(unix.AF_INET, unix.SOCK_STREAM, 262) },
	"udp":    func() error { return dial("udp", "127.0.0.1:53") },
	"raw":    func() error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"vsock":  func() error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"alg":    func() error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
	"audit":  func() error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT) },
	"unix":   func() error { return dial("unix", os.Getenv("SOCKET")) },
	"docker": func() error { return dial("unix", "/var/run/docker.sock") },
	"dbus":   func() error { return dial("unix", "/run/dbus/system_bus_socket") },
	"datagram pair": func() error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return err
	},
	"abstract": func() error { return dial("unix", os.Getenv("ABSTRACT")) },
	"unix with high bits": func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return code(errno)
	},
	"signal":      func() error { return unix.Kill(watcher(), 0) },
	"queue":       func() error { return unix.PidfdSendSignal(pidfd(), 0, nil, 0) },
	"ptrace":      func() error { return unix.PtraceAttach(watcher()) },
	"memory":      func() error { return open(procOf("mem")) },
	"environment": func() error { _, err := os.ReadFile(procOf("environ")); return err },
	"descriptors": func() error { _, err := os.Readlink(procOf("fd/0")); return err },
	"root":        func() error { _, err := os.ReadFile(procOf("root") + secret()); return err },
	"cwd":         func() error { _, err := os.ReadDir(procOf("cwd/")); return err },
	"limits": func() error {
		return unix.Prlimit(watcher(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	},
	"priority":      func() error { return unix.Setpriority(unix.PRIO_PROCESS, watcher(), 19) },
	"user priority": func() error { return unix.Setpriority(unix.PRIO_USER, 0, 19) },
	"oom":           func() error { return os.WriteFile(procOf("oom_score_adj"), []byte("1000"), 0) },
	"userns":        func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"clone": func() error {
		_, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		return code(errno)
	},
	"clone3": func() error { _, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0); return is(errno, unix.ENOSYS) },
	"io_uring": func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return is(errno, unix.ENOSYS)
	},
	"unknown":                func() error { _, _, errno := unix.RawSyscall(4095, 0, 0, 0); return is(errno, unix.ENOSYS) },
	"mount":                  func() error { return unix.Mount("none", ".", "tmpfs", 0, "") },
	"bpf":                    func() error { _, _, errno := unix.RawSyscall(unix.SYS_BPF, 0, 0, 0); return is(errno, unix.EPERM) },
	"keyring":                func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
	"shm":                    func() error { _, err := unix.SysvShmGet(77, 4096, unix.IPC_CREAT|0o600); return err },
	"tiocsti":                func() error { return terminalInput(unix.TIOCSTI) },
	"tiocsti with high bits": func() error { return terminalInput(1<<32 | unix.TIOCSTI) },
	"tioclinux":              func() error { return terminalInput(0x541C) },
	"terminals":              func() error { _, err := os.ReadDir("/dev/pts"); return err },
	"executable":             func() error { _, err := os.Readlink(procOf("exe")); return err },
	"maps":                   func() error { _, err := os.ReadFile(procOf("maps")); return err },
	"setuid": func() error {
		if status, err := os.ReadFile("/proc/self/status"); err != nil || strings.Contains(string(status), "NoNewPrivs:\t1\n") {
			return errors.New("no new privileges")
		}
		return nil
	},
	"capabilities": func() error {
		header, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
		if err := unix.Capget(&header, &data[0]); err != nil {
			return nil
		}
		if data[0].Effective&(1<<unix.CAP_SYS_ADMIN|1<<unix.CAP_KILL|1<<unix.CAP_SYS_PTRACE|1<<unix.CAP_SETUID) == 0 {
			return errors.New("none")
		}
		return nil
	},
	"child": func() error { // a child is confined as well
		return run("cat " + secret())
	},
}

func secret() string            { return filepath.Join(os.Getenv("SECRETS"), "canary") }
func procOf(name string) string { return "/proc/" + os.Getenv("WATCHER") + "/" + name }

func watcher() int {
	pid, _ := strconv.Atoi(os.Getenv("WATCHER"))
	return pid
}

func pidfd() int {
	fd, _ := unix.PidfdOpen(watcher(), 0)
	return fd
}

func open(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

func socket(family, kind, protocol int) error {
	_, err := unix.Socket(family, kind, protocol)
	return err
}

// code turns a system call's errno into an error, and 0 into none.
func code(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// is returns an error if errno is the one of a refusal, and none if the kernel has looked at the call.
func is(errno, refusal syscall.Errno) error {
	if errno == refusal {
		return errno
	}
	return nil
}

// terminalInput reports an error only if the filter has refused the call. /dev/null has no input queue.
func terminalInput(command uintptr) error {
	var b [1]byte
	fd, err := unix.Open(os.DevNull, unix.O_RDWR, 0)
	if err != nil {
		return nil
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), command, uintptr(unsafe.Pointer(&b)))
	return is(errno, unix.EPERM)
}

func run(script string) error {
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{})
	if err != nil {
		return err
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() == 0 {
		return nil
	}
	return fmt.Errorf("exit %d", ws.ExitStatus())
}

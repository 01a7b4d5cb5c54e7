// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostileMain tries one attack, and prints whether it was refused.
func hostileMain() int {
	err := attacks[os.Getenv("ATTACK")]()
	if err == nil {
		fmt.Print("done")
		return 1
	}
	fmt.Print("refused: ", err)
	return 0
}

// watchesMain watches files that a build may watch, and prints what happens in the workspace.
func watchesMain() int {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		fmt.Print(err)
		return 1
	}
	for _, w := range []struct {
		path string
		mask uint32
	}{{".", unix.IN_CREATE | unix.IN_ONLYDIR}, {"canary", unix.IN_MODIFY}, {"/usr", unix.IN_CREATE}, {os.Getenv("LINK"), unix.IN_MODIFY | unix.IN_DONT_FOLLOW}} {
		if _, err := unix.InotifyAddWatch(fd, w.path, w.mask); err != nil {
			fmt.Printf("%s: %v", w.path, err)
			return 1
		}
	}
	if err := os.WriteFile("created", nil, 0o600); err != nil {
		fmt.Print(err)
		return 1
	}
	b := make([]byte, 256)
	n, err := unix.Read(fd, b)
	fmt.Printf("%s %v", strings.Trim(string(b[min(unix.SizeofInotifyEvent, max(n, 0)):max(n, 0)]), "\x00"), err)
	return 0
}

// highBit is the lowest bit that a check of the lower 32 bits of an argument misses. On a 32-bit system,
// whose arguments do not have it, the conversion drops it.
var highBit uint64 = 1 << 32

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
	"listen": func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Listen(fd, 1) // at any port
	},
	"bind": func() error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	},
	"name of a pair": func() error {
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Bind(p[0], &unix.SockaddrUnix{Name: "@hostexec-test-taken-" + strconv.Itoa(os.Getpid())})
	},
	"protocol": func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		err = unix.SetsockoptString(fd, unix.SOL_TCP, 31, "smc")
		if err == unix.ENOENT { // the kernel has looked for it
			return nil
		}
		return err
	},
	"family": func() error { return socket(unix.AF_MAX-1, unix.SOCK_STREAM, 0) },
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
		_, _, errno := unix.RawSyscall(unix.SYS_SOCKET, uintptr(highBit|unix.AF_UNIX), unix.SOCK_STREAM, 0)
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
	"mark": func() error {
		return unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: 1 << 30, Max: 1 << 30}, nil)
	},
	"mark at a high address": func() error {
		at, err := unix.MmapPtr(-1, 0, unsafe.Add(nil, highBit), 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE)
		if err != nil {
			return nil
		}
		_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_RTTIME, uintptr(at), 0, 0, 0)
		return code(errno)
	},
	"mark by setrlimit": func() error {
		new := unix.Rlimit{Cur: 1 << 30, Max: 1 << 30}
		_, _, errno := unix.RawSyscall(unix.SYS_SETRLIMIT, unix.RLIMIT_RTTIME, uintptr(unsafe.Pointer(&new)), 0)
		return code(errno)
	},
	"processors": func() error {
		var all unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil {
			return nil
		}
		return unix.SchedSetaffinity(watcher(), &all)
	},
	"io priority of the user": func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_SET, 3, 0, 2<<13|4)
		return code(errno)
	},
	"io priority of the group": func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_SET, 2, 0, 2<<13|4)
		return code(errno)
	},
	"watch":           func() error { return watch(os.Getenv("SECRETS"), 0) },
	"watch by a link": func() error { return watch(os.Getenv("LINK"), 0) },
	"watch by proc": func() error {
		fd, err := unix.Open(os.Getenv("SECRETS"), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return watch("/proc/self/fd/"+strconv.Itoa(fd), unix.IN_ONLYDIR)
	},
	"lease": func() error {
		fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0)
		if err != nil {
			return nil
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		return err
	},
	"verity":          func() error { return refusedByFilter(0x40806685) },
	"encryption key":  func() error { return refusedByFilter(0xC0506617) },
	"subvolume":       func() error { return refusedByFilter(0x5000940E) },
	"flags":           func() error { return refusedByFilter(0x40086602) },
	"flags by xattr":  func() error { return refusedByFilter(0x401C5820) },
	"line discipline": func() error { return refusedByFilter(unix.TIOCSETD) },
	"priority":        func() error { return unix.Setpriority(unix.PRIO_PROCESS, watcher(), 19) },
	"user priority":   func() error { return unix.Setpriority(unix.PRIO_USER, 0, 19) },
	"oom":             func() error { return os.WriteFile(procOf("oom_score_adj"), []byte("1000"), 0) },
	"userns":          func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
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
	"tiocsti":                func() error { return refusedByFilter(unix.TIOCSTI) },
	"tiocsti with high bits": func() error { return refusedByFilter(uintptr(highBit | unix.TIOCSTI)) },
	"tioclinux":              func() error { return refusedByFilter(0x541C) },
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

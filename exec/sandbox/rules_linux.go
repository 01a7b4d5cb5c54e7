// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import "golang.org/x/sys/unix"

// lastCall is the newest system call that these rules have been written for (Linux 6.17).
const lastCall = 469 // file_setattr

// absent lists system calls that fail as if the kernel did not have them; programs then use others. A filter
// cannot see the arguments of clone3, and calls made by io_uring would bypass the filter.
var absent = []uint32{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_FILE_SETATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT,
	unix.SYS_PIDFD_SEND_SIGNAL, // a filter cannot see which process it signals
}

// refused lists system calls with effects outside the sandbox: on other processes, namespaces, mounts, the kernel's
// state and keyrings. Others affect memory and queues that all programs of a user share.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
	unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMCTL, unix.SYS_SEMTIMEDOP,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR,
}

// attributes lists the system calls that change extended attributes. Programs that copy attributes continue if these
// calls fail.
var attributes = []uint32{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
}

// namespaces are the flags of clone(2) that create namespaces.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

func is(argument, value uint32) condition {
	return condition{argument: argument, mask: ^uint32(0), value: value}
}

func isNot(argument, value uint32) condition {
	return condition{argument: argument, mask: ^uint32(0), value: value, differs: true}
}

// has returns a condition that holds if the argument has one of the bits.
func has(argument, bits uint32) condition {
	return condition{argument: argument, mask: bits, differs: true}
}

// typeIs returns a condition that holds for a type of socket. It ignores the flags in the same argument (socket(2)).
func typeIs(kind uint32) condition { return condition{argument: 1, mask: 0xf, value: kind} }

// rulesFor returns all rules for a program with the network n.
func rulesFor(n Net) (list []rule) {
	for _, group := range []struct {
		calls  []uint32
		action uint32
	}{{absent, unavailable}, {refused, refuse}, {refusedHere, refuse}, {attributes, noAttribute}} {
		for _, number := range group.calls {
			list = append(list, rule{number: number, action: group.action})
		}
	}
	for number := range parsers {
		list = append(list, rule{number: number, action: notify})
	}
	list = append(list, rule{unix.SYS_CLONE, []condition{has(0, namespaces)}, refuse})
	// A lease delays other processes that open the file, by up to /proc/sys/fs/lease-break-time.
	list = append(list, rule{unix.SYS_FCNTL, []condition{is(1, unix.F_SETLEASE)}, refuse})
	list = append(list, rule{unix.SYS_FCNTL, []condition{is(1, setDelegation)}, refuse})
	// A descriptor can send the signal of F_SETSIG to any thread of the sandbox, also to the thread that guarded
	// protects.
	list = append(list, rule{unix.SYS_FCNTL, []condition{is(1, unix.F_SETSIG)}, refuse})
	list = append(append(append(list, ioctlRules()...), ownLimit...), otherProcesses...)
	return append(list, socketRules(n)...)
}

// Commands of ioctl(2), and types of commands (the second byte).
const (
	// setDelegation is F_SETDELEG of fcntl(2), a lease that directories can have, too (Linux 6.19).
	setDelegation = 1024 + 16

	fsGetFlags4 = 0x80046601
	fsGetXattr  = 0x801C581F
	fsFiemap    = 0xC020660B

	typeMask     = 0xFF00
	typeFS       = 'f' << 8
	typeXFS      = 'X' << 8
	typeVersion  = 'v' << 8
	typeFAT      = 'r' << 8
	typeBtrfs    = 0x94 << 8
	typeCeph     = 0x97 << 8
	typeBcachefs = 0xBC << 8
	typeF2FS     = 0xF5 << 8
)

// ioctlRules refuses commands that type into a terminal or replace its driver, and commands of file systems. Some of
// these need only a file that is open for reading: they change its flags, seal it, or create and remove subvolumes. It
// permits those that read flags and copy files.
func ioctlRules() (list []rule) {
	for _, command := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCCONS, unix.TIOCSETD} {
		list = append(list, rule{unix.SYS_IOCTL, []condition{is(1, command)}, refuse})
	}
	permitted := []uint32{unix.FS_IOC_GETFLAGS, fsGetFlags4, fsGetXattr, fsFiemap, unix.FICLONE, unix.FICLONERANGE}
	for _, command := range permitted {
		list = append(list, rule{unix.SYS_IOCTL, []condition{is(1, command)}, allow})
	}
	for _, commands := range []uint32{typeFS, typeXFS, typeVersion, typeFAT, typeBtrfs, typeCeph, typeBcachefs, typeF2FS} {
		list = append(list, rule{unix.SYS_IOCTL, []condition{{argument: 1, mask: typeMask, value: commands}}, refuse})
	}
	return list
}

// ownLimit refuses changes of the limit by which proctree recognises the processes of a confined command. It can be
// read.
var ownLimit = []rule{
	{unix.SYS_SETRLIMIT, []condition{is(0, unix.RLIMIT_RTTIME)}, refuse},
	{unix.SYS_PRLIMIT64, []condition{is(1, unix.RLIMIT_RTTIME), isNot(2, 0)}, refuse},
	{unix.SYS_PRLIMIT64, []condition{is(1, unix.RLIMIT_RTTIME), {argument: 2, mask: ^uint32(0), differs: true, high: true}}, refuse},
}

// otherProcesses lists calls that change limits, priorities and processors. Landlock does not guard those of other
// processes of the user. Calls on the process itself, named by 0, are permitted.
var otherProcesses = []rule{
	{unix.SYS_PRLIMIT64, []condition{isNot(0, 0)}, refuse},
	{unix.SYS_SETPRIORITY, []condition{isNot(0, unix.PRIO_PROCESS)}, refuse},
	{unix.SYS_SETPRIORITY, []condition{isNot(1, 0)}, refuse},
	{unix.SYS_IOPRIO_SET, []condition{isNot(0, ioprioWhoProcess)}, refuse},
	{unix.SYS_IOPRIO_SET, []condition{isNot(1, 0)}, refuse},
	{unix.SYS_SCHED_SETAFFINITY, []condition{isNot(0, 0)}, refuse},
	{unix.SYS_SCHED_SETSCHEDULER, []condition{isNot(0, 0)}, refuse},
	{unix.SYS_SCHED_SETPARAM, []condition{isNot(0, 0)}, refuse},
	{unix.SYS_SCHED_SETATTR, []condition{isNot(0, 0)}, refuse},
}

// ioprioWhoProcess is the kind of ioprio_set(2) that names a thread.
const ioprioWhoProcess = 1

// socketRules permits the sockets of n and those with which a program asks for the addresses of this host, and pairs
// of unix sockets.
func socketRules(n Net) []rule {
	list := []rule{{unix.SYS_SOCKET, []condition{is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)}, allow}}
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		switch {
		case n.All:
			list = append(list, rule{unix.SYS_SOCKET, []condition{is(0, family)}, allow})
		case !n.None():
			// Landlock knows the ports of TCP, not those of UDP or MPTCP.
			for _, protocol := range []uint32{0, unix.IPPROTO_TCP} {
				list = append(list, rule{unix.SYS_SOCKET, []condition{is(0, family), typeIs(unix.SOCK_STREAM), is(2, protocol)}, allow})
			}
		}
	}
	list = append(list, rule{unix.SYS_SOCKET, nil, refuseNet})
	// Pairs of datagram sockets are not permitted, because each of them can send to any socket with a path.
	for _, kind := range []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		list = append(list, rule{unix.SYS_SOCKETPAIR, []condition{is(0, unix.AF_UNIX), typeIs(kind)}, allow})
	}
	list = append(list, rule{unix.SYS_SOCKETPAIR, nil, refuseNet})
	if n.All {
		return list
	}
	// Landlock does not see that a socket without a name listens, and that TCP_ULP replaces the protocol. A name is
	// needed only by netlink. TCP Fast Open connects without connect(2), so Landlock does not check it.
	return append(list,
		rule{unix.SYS_LISTEN, nil, refuseNet},
		rule{unix.SYS_BIND, []condition{isNot(2, unix.SizeofSockaddrNetlink)}, refuseNet},
		rule{unix.SYS_SETSOCKOPT, []condition{is(1, unix.SOL_TCP), is(2, unix.TCP_ULP)}, refuseNet},
		rule{unix.SYS_SENDTO, []condition{has(3, unix.MSG_FASTOPEN)}, refuseNet},
		rule{unix.SYS_SENDMSG, []condition{has(2, unix.MSG_FASTOPEN)}, refuseNet},
		rule{unix.SYS_SENDMMSG, []condition{has(3, unix.MSG_FASTOPEN)}, refuseNet})
}

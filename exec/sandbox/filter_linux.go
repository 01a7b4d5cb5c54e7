// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"os"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A rule answers a system call. The first rule that matches decides; a call without one is let
// through.
type rule struct {
	number uint32
	when   []condition // all of them have to hold
	action uint32      // a SECCOMP_RET_ value of seccomp(2)
}

// condition compares the low 32 bits of an argument. The kernel ignores the high bits of the arguments
// that are looked at here.
type condition struct {
	argument, mask, value uint32
	differs               bool // it holds if the masked argument is not value
}

const (
	allow       = unix.SECCOMP_RET_ALLOW
	refuse      = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	refuseNet   = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	unavailable = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	noAttribute = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
	supervise   = unix.SECCOMP_RET_USER_NOTIF
)

// Offsets in struct seccomp_data (seccomp(2)) on a little-endian machine.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

// compile returns the program that applies rules. A call of another architecture, such as i386, ends
// the process. Calls with a number above lastCall do not exist: nobody has looked at what they do.
// x32 has such numbers.
//
// The filter is our own, assembled by x/net/bpf. go-seccomp-bpf lets calls of other architectures through,
// and loses the number after it has compared an argument.
func compile(rules []rule) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lastCall, SkipFalse: 1},
		bpf.RetConstant{Val: unavailable},
	}
	for _, r := range rules {
		program = append(program, r.instructions()...)
	}
	return append(program, bpf.RetConstant{Val: allow})
}

// instructions returns r as instructions that expect the call's number in the register A. If r does
// not match, the number is there afterwards.
func (r rule) instructions() []bpf.Instruction {
	if len(r.when) == 0 {
		return []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.number, SkipFalse: 1},
			bpf.RetConstant{Val: r.action},
		}
	}
	list := []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.number, SkipFalse: uint8(3*len(r.when) + 2)}}
	for i, c := range r.when {
		end := uint8(3*(len(r.when)-i) - 2) // instructions from the jump to the last one
		jump := bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.value, SkipFalse: end}
		if c.differs {
			jump.SkipTrue, jump.SkipFalse = end, 0
		}
		list = append(list, bpf.LoadAbsolute{Off: offsetArguments + 8*c.argument, Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask}, jump)
	}
	return append(list, bpf.RetConstant{Val: r.action}, bpf.LoadAbsolute{Off: offsetNumber, Size: 4})
}

// load confines the calling thread by a filter. It returns the descriptor on which the kernel reports the supervised
// calls (seccomp_unotify(2)).
func load(filter []bpf.RawInstruction) (fd int, err error) {
	list := make([]unix.SockFilter, len(filter))
	for i, f := range filter {
		list[i] = unix.SockFilter{Code: f.Op, Jt: f.Jt, Jf: f.Jf, K: f.K}
	}
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return -1, os.NewSyscallError("seccomp", errno)
	}
	return int(r), nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A rule is the answer to a system call. The first matching rule decides. A call that matches no rule is permitted.
type rule struct {
	number uint32
	when   []condition // all of them have to hold
	action uint32      // a SECCOMP_RET_ value of seccomp(2)
}

// condition compares 32 bits of an argument. The kernel ignores the high bits of those arguments that are not pointers.
type condition struct {
	argument, mask, value uint32
	differs               bool // it holds if the masked argument is not value
	high                  bool // it compares the high bits
}

// offset returns the offset of the bits in struct seccomp_data.
func (c condition) offset() uint32 {
	if c.high {
		return offsetArguments + 8*c.argument + 4
	}
	return offsetArguments + 8*c.argument
}

const (
	allow       = unix.SECCOMP_RET_ALLOW
	refuse      = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	refuseNet   = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	unavailable = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	noAttribute = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
	notify      = unix.SECCOMP_RET_USER_NOTIF // MetadataServer answers
)

// Offsets in struct seccomp_data (seccomp(2)) on a little-endian machine.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

// compile returns the program that applies rules. A call of another architecture, such as i386, ends the process. Calls
// with a number above lastCall fail as if they did not exist, because no rule was written for them. The calls of x32
// have such numbers.
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
	return append(program, search(groups(rules))...)
}

// filterFor returns the filter for n. It is the same for all lists of ports.
func filterFor(n Net) ([]bpf.RawInstruction, error) {
	switch {
	case n.All:
		return filterAll()
	case n.None():
		return filterNone()
	}
	return filterPorts()
}

var filterAll, filterNone, filterPorts = assembled(Net{All: true}), assembled(Net{}), assembled(Net{Ports: []uint16{dnsPort}})

func assembled(n Net) func() ([]bpf.RawInstruction, error) {
	return sync.OnceValues(func() ([]bpf.RawInstruction, error) {
		filter, err := bpf.Assemble(compile(rulesFor(n)))
		if err != nil {
			return nil, fmt.Errorf("assemble the seccomp filter: %w", err)
		}
		return filter, nil
	})
}

// groupSize is the minimum number of instructions in a group.
const groupSize = 12

// group has all rules for some numbers.
type group struct {
	last    uint32 // the greatest of these numbers
	program []bpf.Instruction
}

// groups returns the rules in the order of their numbers. Each group ends with a return, because no other group
// matches its numbers.
func groups(rules []rule) (list []group) {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b rule) int { return cmp.Compare(a.number, b.number) }) // the first that matches decides
	var g group
	for i, r := range sorted {
		g.last, g.program = r.number, append(g.program, r.instructions()...)
		if i+1 == len(sorted) || len(g.program) >= groupSize && sorted[i+1].number != r.number {
			g.program = append(g.program, bpf.RetConstant{Val: allow})
			list, g = append(list, g), group{}
		}
	}
	return list
}

// search returns a program that finds the group of a number by binary search. When the kernel loads the filter, it runs
// the filter once for each system call. So long paths through the program cost more than a long program.
func search(list []group) []bpf.Instruction {
	if len(list) == 1 {
		return list[0].program
	}
	lower := list[:len(list)/2]
	program := search(lower)
	program = append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lower[len(lower)-1].last, SkipFalse: 1},
		bpf.Jump{Skip: uint32(len(program))},
	}, program...)
	return append(program, search(list[len(lower):])...)
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
		list = append(list, bpf.LoadAbsolute{Off: c.offset(), Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask}, jump)
	}
	return append(list, bpf.RetConstant{Val: r.action}, bpf.LoadAbsolute{Off: offsetNumber, Size: 4})
}

// signals lists the system calls that send a signal, each with the argument that has the id of the process or thread.
var signals = []struct{ number, argument uint32 }{
	{unix.SYS_KILL, 0}, {unix.SYS_TKILL, 0}, {unix.SYS_RT_SIGQUEUEINFO, 0}, {unix.SYS_TGKILL, 1}, {unix.SYS_RT_TGSIGQUEUEINFO, 1},
}

// guarded returns a filter that also refuses signals to the thread tid. Landlock permits them, because the thread is in
// the program's own domain. They could end this process, which starts the program. If a later process gets the same id,
// the program cannot signal that process either.
func guarded(filter []bpf.RawInstruction, tid int) ([]bpf.RawInstruction, error) {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetNumber, Size: 4}}
	for _, s := range signals {
		r := rule{s.number, []condition{is(s.argument, uint32(tid))}, refuse}
		program = append(program, r.instructions()...)
	}
	guard, err := bpf.Assemble(program)
	return append(guard, filter...), err
}

// load confines the calling thread by a filter. It returns the descriptor on which the kernel reports the calls with
// the action notify (seccomp_unotify(2)).
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

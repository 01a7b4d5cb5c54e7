// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processes returns all that there are, in one look (sysctl kern.proc.all).
func processes() []process {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	all := make([]process, 0, len(list))
	for i := range list {
		all = append(all, row(&list[i]))
	}
	return all
}

// find returns process pid.
func find(pid int) (process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return process{}, false
	}
	return row(k), true
}

func row(k *unix.KinfoProc) process {
	const zombie = 5 // SZOMB of sys/proc.h
	pid := int(k.Proc.P_pid)
	return process{
		member: member{pid, uint64(k.Proc.P_starttime.Nano())},
		ppid:   int(k.Eproc.Ppid),
		sid:    sessionOf(pid),
		uid:    int(k.Eproc.Ucred.Uid),
		zombie: k.Proc.P_stat == zombie,
	}
}

// since is when m was started.
func (m member) since() time.Time { return time.Unix(0, int64(m.start)) }

// Catches reports whether a process has a handler for a signal.
func Catches(pid int, sig syscall.Signal) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && k.Proc.P_sigcatch&(1<<(sig-1)) != 0
}

// words returns the arguments and the environment that a process of ours was started with
// (sysctl kern.procargs2). Of the system's own programs it says no environment.
func words(pid int) (args, env []string) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return nil, nil
	}
	argc := int(binary.NativeEndian.Uint32(b))
	b = b[4:]
	end := bytes.IndexByte(b, 0) // of the program's path, which is padded with more
	if end < 0 {
		return nil, nil
	}
	b = bytes.TrimLeft(b[end:], "\x00")
	for text := range bytes.SplitSeq(b, []byte{0}) {
		switch {
		case len(args) < argc:
			args = append(args, string(text))
		case len(text) > 0:
			env = append(env, string(text))
		}
	}
	return args, env
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// showArgs prints its arguments, all bytes of them, as a list of Go strings: one word
// ASCII each, which JSON's strings would not keep.
func showArgs(args []string) error {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = strconv.QuoteToASCII(a)
		if len(a) > 1000 {
			quoted[i] = fmt.Sprintf("%d bytes, all %q: %t", len(a), a[:1], uniform(a))
		}
	}
	return show(quoted)
}

func uniform(s string) bool {
	for i := range len(s) {
		if s[i] != s[0] {
			return false
		}
	}
	return true
}

// printArgs prints its arguments, one on each line.
func printArgs(args []string) error {
	for _, a := range args {
		fmt.Println(a)
	}
	return nil
}

func exit(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	os.Exit(n)
	return nil
}

// report tells how this process was started.
func report([]string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	sid, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	return show(map[string]any{
		"pid": os.Getpid(), "ppid": os.Getppid(), "sid": sid, "pgid": unix.Getpgrp(), "uid": os.Getuid(),
		"cwd": cwd, "env": os.Environ(), "argv0": os.Args[0],
	})
}

// fd is one open descriptor.
type fd struct {
	N    int    `json:"n"`
	Ino  uint64 `json:"ino"`
	Mode string `json:"mode"` // pipe, socket, chr, reg, dir
	Name string `json:"name"` // the link's text
}

// openFDs lists the descriptors below 1024, opening none to do so. The Go runtime's own,
// for its poller and the CPU limit of its cgroup, are left out.
func openFDs() (all []fd) {
	for n := range 1024 {
		var st unix.Stat_t
		if unix.Fstat(n, &st) != nil {
			continue
		}
		name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(n))
		if n > 2 && (name == "anon_inode:[eventpoll]" || name == "anon_inode:[eventfd]" || strings.HasPrefix(name, "/sys/fs/cgroup/")) {
			continue
		}
		all = append(all, fd{n, st.Ino, kind(st.Mode), name})
	}
	return all
}

func kind(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return "pipe"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR:
		return "chr"
	case unix.S_IFREG:
		return "reg"
	}
	return "dir"
}

func showFDs([]string) error { return show(openFDs()) }

// showEUID prints the effective user id, which a set-user-ID bit changes.
func showEUID([]string) error {
	_, err := fmt.Println(os.Geteuid())
	return err
}

// cat prints a file.
func cat(args []string) error {
	text, err := os.ReadFile(args[0])
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	return err
}

// execute becomes another program, by its path.
func execute(args []string) error { return unix.Exec(args[0], args, os.Environ()) }

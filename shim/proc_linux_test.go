// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// catches reports whether pid has a handler for sig, from proc(5).
func catches(t *testing.T, pid int, sig syscall.Signal) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\nSigCgt:\t")
	word, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask&(1<<(sig-1)) != 0
}

func inode(t *testing.T, f *os.File) uint64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lsmLandlock is LSM_ID_LANDLOCK of linux/lsm.h.
const lsmLandlock = 110

// activeModules returns the security modules that the kernel has started, or nil if it does not tell
// (lsm_list_modules(2), since Linux 6.8).
func activeModules(t *testing.T) []uint64 {
	t.Helper()
	ids := make([]uint64, 64)
	size := uint32(8 * len(ids))
	n, _, errno := unix.Syscall(unix.SYS_LSM_LIST_MODULES, uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		t.Logf("lsm_list_modules: %v", errno)
		return nil
	}
	return ids[:n]
}

// TestSupported checks that Supported returns an error only on a kernel that lacks Landlock or is too old. Where it
// returns an error, other tests of the sandbox check only that nothing runs, so a wrong error would let them pass.
func TestSupported(t *testing.T) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	newEnough := major > 6 || major == 6 && minor >= 12
	err := Supported()
	if newEnough && slices.Contains(activeModules(t), lsmLandlock) && err != nil || err != nil && !errors.Is(err, ErrUnsupported) {
		t.Errorf("Supported = %v on Linux %d.%d", err, major, minor)
	}
}

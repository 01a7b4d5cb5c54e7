// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// matches reports whether the rule decides about a call.
func (r rule) matches(number uint32, a [6]uint64) bool {
	for _, c := range r.when {
		bits := uint32(a[c.argument])
		if c.high {
			bits = uint32(a[c.argument] >> 32)
		}
		if (bits&c.mask == c.value) == c.differs {
			return false
		}
	}
	return r.number == number
}

// decided returns the action of the first rule that matches.
func decided(rules []rule, number uint32, a [6]uint64) uint32 {
	if number > lastCall {
		return unavailable
	}
	for _, r := range rules {
		if r.matches(number, a) {
			return r.action
		}
	}
	return allow
}

// TestFilter compares the filter with its rules, for all calls and the arguments that rules look at. The interpreter of
// x/net/bpf reads its input in network order.
func TestFilter(t *testing.T) {
	for _, n := range []Net{{}, {All: true}, {Ports: []uint16{443}}} {
		rules := rulesFor(n)
		vm, err := bpf.NewVM(compile(rules))
		if err != nil {
			t.Fatal(err)
		}
		values := []uint64{0, 1, 2, 3, 16, 29, 1<<32 - 1, 1 << 32, 1<<32 + 1}
		for _, r := range rules {
			for _, c := range r.when {
				values = append(values, uint64(c.value), uint64(c.mask), uint64(c.value)+1)
			}
		}
		for number := range uint32(lastCall + 3) {
			for i, v := range values {
				a := [6]uint64{v, values[(i+1)%len(values)], values[(i*7+2)%len(values)], v, v, v}
				if i%2 == 1 {
					a[0], a[1], a[2] = a[1], a[0], v
				}
				if got, want := run(t, vm, auditArch, number, a), decided(rules, number, a); got != want {
					t.Fatalf("net %+v: call %d %x: %x, want %x", n, number, a, got, want)
				}
			}
		}
		if got := run(t, vm, auditArch+1, 0, [6]uint64{}); got != 0x80000000 {
			t.Errorf("another architecture: %x", got)
		}
	}
}

// TestFilterRefusesFileSystems checks calls that a file opened for reading permits on some file systems or newer kernels.
//
// Attacks 284.
func TestFilterRefusesFileSystems(t *testing.T) {
	vm, err := bpf.NewVM(compile(rulesFor(Net{All: true})))
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]struct {
		number  uint32
		command uint64
	}{
		"delegation (Linux 6.19)":    {unix.SYS_FCNTL, 1040},
		"FAT_IOCTL_SET_ATTRIBUTES":   {unix.SYS_IOCTL, 0x40047211},
		"CEPH_IOC_SET_LAYOUT":        {unix.SYS_IOCTL, 0x40289702},
		"BCH_IOCTL_SUBVOLUME_CREATE": {unix.SYS_IOCTL, 0x4020BC10},
		"F2FS_IOC_SET_PIN_FILE":      {unix.SYS_IOCTL, 0x4004F50D},
	} {
		if got := run(t, vm, auditArch, call.number, [6]uint64{0, call.command}); got != refuse {
			t.Errorf("%s: %x, want %x", name, got, refuse)
		}
	}
}

func run(t *testing.T, vm *bpf.VM, arch, number uint32, a [6]uint64) uint32 {
	t.Helper()
	var in [64]byte
	binary.BigEndian.PutUint32(in[offsetNumber:], number)
	binary.BigEndian.PutUint32(in[offsetArch:], arch)
	for i, v := range a {
		binary.BigEndian.PutUint32(in[offsetArguments+8*i:], uint32(v))
		binary.BigEndian.PutUint32(in[offsetArguments+8*i+4:], uint32(v>>32))
	}
	action, err := vm.Run(in[:])
	if err != nil {
		t.Fatal(err)
	}
	return uint32(action)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// relay stands where a container's relay should: it says that it is one, makes as many calls as
// its first argument says, reads nothing and ends. A second one, child, has it leave a process
// that holds its stdout.
func relay(args []string) error {
	n, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return err
	}
	b := append(chunk(nil, 0, 3), "\x01\x00\x00"...)
	for call := range uint32(n) {
		b = append(chunk(b, call+1, 5), "\xff\xff\xff\xff\xff"...) // no request: each is answered at once
	}
	if len(args) > 1 && args[1] == "child" {
		holder := exec.Command("/proc/self/exe", "hold")
		holder.Stdout = os.Stdout
		if err := holder.Start(); err != nil {
			return err
		}
	}
	if _, err := os.Stdout.Write(b); err != nil {
		return fmt.Errorf("make %d calls: %w", n, err)
	}
	return nil
}

// chunk appends the header of a chunk of n bytes.
func chunk(b []byte, call, n uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, call), n)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// The stream of gen is its own proof: each eight bytes are the number of the ones before
// them, so a byte lost, doubled or moved is seen, and where.

const block = 64 << 10

func fill(b []byte, at uint64) {
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], (at+uint64(i))/8)
	}
}

// generate writes that many bytes, a multiple of eight.
func generate(args []string) error {
	total, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	buf := make([]byte, block)
	for at := uint64(0); at < total; {
		n := min(total-at, block)
		fill(buf[:n], at)
		if _, err := os.Stdout.Write(buf[:n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// count checks the stream on stdin and prints its length.
func count([]string) error {
	buf := make([]byte, block)
	for at := uint64(0); ; {
		n, err := io.ReadFull(os.Stdin, buf)
		for i := 0; i+8 <= n; i += 8 {
			if got := binary.LittleEndian.Uint64(buf[i:]); got != (at+uint64(i))/8 {
				return fmt.Errorf("at byte %d: %d instead of %d", at+uint64(i), got, (at+uint64(i))/8)
			}
		}
		at += uint64(n)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
			_, err := fmt.Println(at)
			return err
		}
	}
}

// inodes runs a command that prints its descriptors. The command gets a pipe or a socket of this process for each of 0,
// 1 and 2. inodes prints whether each of them is the same file in the command: "true true true".
func inodes(args []string) error {
	var ours, theirs [3]*os.File
	for i := range ours {
		a, b, err := pair(args[0])
		if err != nil {
			return err
		}
		if i == 0 {
			a, b = b, a
		}
		ours[i], theirs[i] = a, b
	}
	want := [3]uint64{}
	for i, f := range theirs {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return err
		}
		want[i] = st.Ino
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := cmd.Start(); err != nil {
		return err
	}
	for _, f := range theirs {
		f.Close()
	}
	return compare(cmd, ours, want)
}

func compare(cmd *exec.Cmd, ours [3]*os.File, want [3]uint64) error {
	out, err := io.ReadAll(ours[1])
	if err != nil {
		return err
	}
	errs, _ := io.ReadAll(ours[2])
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, errs)
	}
	var got []fd
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&got); err != nil {
		return err
	}
	same := [3]bool{}
	for _, f := range got {
		if f.N < 3 {
			same[f.N] = f.Ino == want[f.N]
		}
	}
	_, err = fmt.Println(same[0], same[1], same[2])
	return err
}

// pair makes a pipe (read end first) or a pair of sockets.
func pair(kind string) (r, w *os.File, err error) {
	if kind == "pipe" {
		return os.Pipe()
	}
	s, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(s[0]), "a"), os.NewFile(uintptr(s[1]), "b"), nil
}

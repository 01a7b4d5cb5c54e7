// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// A burst is n calls of one command that echoes stdin, all in flight together: each has
// sent its number and got it back before any is let go.

type inFlight struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// burst starts n calls of the command, prints "flying", waits for a line on stdin, ends
// them all, and prints how many failed.
func burst(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	flying := make([]*inFlight, n)
	failed := 0
	for i := range flying {
		if flying[i], err = launch(args[1:]); err != nil {
			return err
		}
	}
	for i, f := range flying {
		failed += complain(i, f.echo(i))
	}
	fmt.Println("flying")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	for _, f := range flying {
		f.in.Close()
	}
	for i, f := range flying {
		failed += complain(i, f.end())
	}
	_, err = fmt.Println(failed)
	return err
}

func launch(argv []string) (*inFlight, error) {
	f := &inFlight{cmd: exec.Command(argv[0], argv[1:]...)}
	f.cmd.Stderr = os.Stderr
	in, err := f.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.in, f.out = in, bufio.NewReaderSize(out, 64)
	return f, f.cmd.Start()
}

// echo sends a number and wants it back.
func (f *inFlight) echo(i int) error {
	line := strconv.Itoa(i) + "\n"
	if _, err := io.WriteString(f.in, line); err != nil {
		return err
	}
	got, err := f.out.ReadString('\n')
	if err == nil && got != line {
		err = fmt.Errorf("%q came back", got)
	}
	return err
}

func (f *inFlight) end() error {
	if rest, err := io.ReadAll(f.out); err != nil || len(rest) > 0 {
		return fmt.Errorf("%q, %v after the end", rest, err)
	}
	return f.cmd.Wait()
}

func complain(i int, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "call %d: %v\n", i, err)
	return 1
}

// calls makes n calls of the command, one after the other, and prints how many failed.
func calls(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	failed := 0
	for i := range n {
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Stderr = os.Stderr
		failed += complain(i, cmd.Run())
	}
	_, err = fmt.Println(failed)
	return err
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// times runs commands, which are separated by --, in turn. Its first argument is the number of rounds. It prints a list
// for each command: the time of each run, from its start until it was reaped, in nanoseconds. The commands get
// /dev/null on 0 and a pipe on 1 and 2, as from a program that reads their output.
func times(args []string) error {
	rounds, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	commands := split(args[1:])
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	took := make([][]int64, len(commands))
	for range rounds {
		for i, argv := range commands {
			d, err := timed(argv, w)
			if err != nil {
				return err
			}
			took[i] = append(took[i], d.Nanoseconds())
		}
	}
	return show(took)
}

func timed(argv []string, out *os.File) (time.Duration, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	start := time.Now()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{null, out, out}, Env: os.Environ()})
	if err != nil {
		return 0, err
	}
	st, err := p.Wait()
	took := time.Since(start)
	if err == nil && !st.Success() {
		err = fmt.Errorf("%s: %s", argv[0], st)
	}
	return took, err
}

// through runs commands as times does, and reads all that each writes to its stdout, a pipe. It prints how long the
// reading took, as times does.
func through(args []string) error {
	rounds, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	commands := split(args[1:])
	took := make([][]int64, len(commands))
	for range rounds {
		for i, argv := range commands {
			start := time.Now()
			if err := consume(argv); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(start).Nanoseconds())
		}
	}
	return show(took)
}

func consume(argv []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{nil, w, os.Stderr}, Env: os.Environ()})
	w.Close()
	if err != nil {
		return err
	}
	// Not io.Copy, which would find a way around the copying that a reader does.
	for buf := make([]byte, block); err == nil; {
		_, err = r.Read(buf)
	}
	if _, werr := p.Wait(); werr != nil {
		return werr
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func split(args []string) (commands [][]string) {
	for _, text := range strings.Split(strings.Join(args, "\x00"), "\x00--\x00") {
		commands = append(commands, strings.Split(text, "\x00"))
	}
	return commands
}

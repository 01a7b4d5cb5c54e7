// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// holdOn is the first process of a container in which others make calls: it reaps what
// is left to it and ends on TERM.
func holdOn([]string) error {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT)
	for s := range c {
		if s != syscall.SIGCHLD {
			return nil
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
	return nil
}

// showPID prints its process number and waits for its end: by a signal, or by EOF of
// stdin with the argument "eof".
func showPID(args []string) error {
	fmt.Println(os.Getpid())
	if len(args) > 0 && args[0] == "eof" {
		return drain()
	}
	return forever()
}

// forever waits for a signal that ends the process.
func forever() error {
	for {
		unix.Pause()
	}
}

func drain() error {
	buf := make([]byte, 1024)
	for {
		if n, err := os.Stdin.Read(buf); n == 0 || err != nil {
			return nil
		}
	}
}

// tree prints the process numbers of itself and of three more that nothing but a walk
// finds: a child, the child of one that has gone, and one in a session of its own.
func tree([]string) error {
	fmt.Println(os.Getpid())
	for _, how := range []string{"child", "orphan", "session"} {
		if err := startChild(how); err != nil {
			return err
		}
	}
	return forever()
}

func startChild(how string) error {
	args := []string{"leaf"}
	if how == "orphan" {
		args = []string{"daemon", "ignore"}
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: how == "session"}
	if how == "orphan" {
		return cmd.Run()
	}
	return cmd.Start()
}

// leaf prints its process number and waits for ever. With "ignore" it ignores TERM and
// HUP, as an obstinate daemon does.
func leaf(args []string) error {
	if len(args) > 0 && args[0] == "ignore" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	}
	fmt.Println(os.Getpid())
	return forever()
}

// daemon starts a leaf and leaves.
func daemon(args []string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{"leaf"}, args...)...)
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// idle runs a command whose stdin is a pipe into which nothing is written and that is
// never closed, and prints how the command ended.
func idle(args []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, os.Stdout, os.Stderr
	err = cmd.Run()
	fmt.Println("ended " + strconv.Itoa(cmd.ProcessState.ExitCode()))
	return err
}

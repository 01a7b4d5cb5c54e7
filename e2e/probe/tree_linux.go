// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// childKinds are the ways in which a processTree grows: by fork, by a fork of another thread than the first, and by a
// fork into a session of its own. Two forks, of which the first process ends, are another way. The last way is the same
// in a session of its own that ignores TERM.
var childKinds = []struct {
	args   []string
	setsid bool
	thread bool
}{
	{args: []string{"leaf"}},
	{args: []string{"leaf"}, thread: true},
	{args: []string{"leaf"}, setsid: true},
	{args: []string{"daemon"}},
	{args: []string{"daemon", "ignore"}, setsid: true},
}

// processTree prints the process numbers of itself and of so many more that there are n, in each
// of the ways in turn. They wait for ever.
func processTree(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	fmt.Println(os.Getpid())
	for i := range n - 1 {
		started := make(chan error)
		// ends when the process has started; one that forks by its own thread never does.
		go func() {
			g := childKinds[i%len(childKinds)]
			if g.thread {
				runtime.LockOSThread()
			}
			started <- grow(g.args, g.setsid)
			if g.thread {
				select {} // else the child would be the first thread's
			}
		}()
		if err := <-started; err != nil {
			return err
		}
	}
	return forever()
}

// grow starts one, and passes its process number on.
func grow(args []string, setsid bool) error {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	fmt.Print(pid)
	if args[0] == "daemon" {
		return cmd.Wait()
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// answerTime is how long a server may take to answer.
const answerTime = 2 * time.Second

var errNoSecret = errors.New("no secret")

func has(text []byte, secret string) error {
	if !bytes.Contains(text, []byte(secret)) {
		return errNoSecret
	}
	return nil
}

func reach(network, address string) error {
	c, err := net.DialTimeout(network, address, answerTime)
	if err != nil {
		return err
	}
	return c.Close()
}

// askEngine pings the engine.
func askEngine(socket string) error {
	c, err := net.DialTimeout("unix", socket, answerTime)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprint(c, "GET /_ping HTTP/1.0\r\n\r\n")
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	return r.Body.Close()
}

// anyAnswers sends a word to each server, and expects one answer.
func anyAnswers(network string, t targets) (err error) {
	for _, address := range t.Servers {
		if err = answers(network, address); err == nil {
			return nil
		}
	}
	return err
}

func answers(network, address string) error {
	c, err := net.DialTimeout(network, address, answerTime)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(answerTime))
	if _, err := c.Write([]byte("hostile")); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, len("hostile")))
	return err
}

// trace attaches to a process without stopping it, and detaches.
func trace(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	// Only a stopped process can be detached.
	unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, uintptr(pid), 0, 0, 0, 0)
	unix.Wait4(pid, nil, unix.WALL, nil)
	unix.PtraceDetach(pid)
	return nil
}

// readMemory looks for the secret on the stack of the victim, where its environment is.
func readMemory(t targets) error {
	maps, err := os.ReadFile(procFile(t.Victim, "maps"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if !strings.Contains(line, "[stack]") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			return err
		}
		mem, err := os.Open(procFile(t.Victim, "mem"))
		if err != nil {
			return err
		}
		defer mem.Close()
		text, err := io.ReadAll(io.NewSectionReader(mem, from, to-from))
		return errors.Join(err, has(text, t.Secret))
	}
	return errors.New("it has no stack")
}

func takeDescriptor(t targets) error {
	pidfd, err := unix.PidfdOpen(t.Victim, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, 3, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	text := make([]byte, len(t.Secret))
	if _, err := unix.Pread(fd, text, 0); err != nil {
		return err
	}
	return has(text, t.Secret)
}

func kill(pid int) error {
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		return err
	}
	return nil
}

// setuid runs this program, which another user owns, and compares the users.
func setuid(t targets) error {
	out, err := exec.Command(t.Setuid, "euid").Output()
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(out)) == fmt.Sprint(os.Geteuid()) {
		return errors.New("it runs as the same user")
	}
	return nil
}

// userNamespace starts a program in a new user namespace.
func userNamespace(targets) error {
	cmd := exec.Command("/proc/self/exe", "euid")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return cmd.Run()
}

// keyName is the description of the key that the test puts into the user's keyring.
const keyName = "hostexec-canary"

// key puts a key with the secret args[0] into the user's keyring. Without it, it removes the key.
func key(args []string) error {
	if len(args) == 0 {
		id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", keyName, 0)
		if err != nil {
			return err
		}
		_, err = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
		return err
	}
	id, err := unix.AddKey("user", keyName, []byte(args[0]), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return err
	}
	const readable = 0x3f3f0000 // by possessor and user
	return unix.KeyctlSetperm(id, readable)
}

func searchKey(secret string) error {
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", keyName, 0)
	if err != nil {
		return err
	}
	text := make([]byte, len(secret))
	if _, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, text, 0); err != nil {
		return err
	}
	return has(text, secret)
}

// typeInto puts a byte into the input queue of the terminal on which the program runs.
func typeInto(targets) error {
	tty, err := unix.Open("/dev/tty", unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(tty)
	letter := byte('x')
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(tty), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter))); errno != 0 {
		return errno
	}
	return nil
}

// leave starts a process that nothing connects with this one: it has another session and no environment. The test
// finds it by its last argument.
func leave(t targets) error {
	cmd := exec.Command("/proc/self/exe", "leaf", "ignore", t.Abstract)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// outlive leaves a process, and kills the processes of the host that would end it.
func outlive(t targets) error {
	return errors.Join(leave(t), kill(t.Keeper), kill(t.Watcher))
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package shim

import (
	"syscall"
	"time"
)

const defaultDirectory = "/run/hostexec"

// patience is how long a call waits while the host has not decided how calls reach it:
// a container's first instruction may be one. A variable so that tests need not wait.
var patience = 10 * time.Second

// directory is where the host's share is mounted.
func directory(env []string) string {
	if dir := variable(env, "HOSTEXEC_DIR"); dir != "" {
		return dir
	}
	return defaultDirectory
}

// dial connects to the host. The socket is tried first, for it is nearly always the one;
// only when nobody answers there is the host's word on the carrier read, and what is
// undecided, or a relay that is on its way, is waited for. By a relay no descriptor goes.
func (c *call) dial(dir string) (sock int, relayed bool, err error) {
	sock, err = connect(dir + "/socket")
	how, pause := "", time.Millisecond
	for waited := time.Duration(0); err != nil; waited += pause {
		how = word(dir + "/carrier")
		if how == "relay" {
			if sock, e := connect(dir + "/relay/socket"); e == nil {
				return sock, true, nil
			} else if waited > patience {
				return -1, false, e
			}
		}
		if how != "relay" && how != "undecided" || waited > patience {
			break
		}
		c.listen() // here there is time for it, and signals end the waiting
		pause = min(2*pause, 100*time.Millisecond)
		poll(nil, pause)
		sock, err = connect(dir + "/socket")
	}
	if err != nil && how != "files" {
		sock, err = connect(dir + "/socket") // it may have been decided since
	}
	return sock, false, err
}

func connect(path string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, stream, 0)
	if err != nil {
		return -1, err
	}
	if stream == syscall.SOCK_STREAM {
		syscall.CloseOnExec(fd)
	}
	for {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		if err == nil {
			return fd, nil
		}
		if err != syscall.EINTR {
			syscall.Close(fd)
			return -1, err
		}
	}
}

// word reads what the host has written into a file: one word; empty when there is none.
func word(file string) string {
	text, _ := read(file, 40)
	n := len(text)
	for n > 0 && text[n-1] <= ' ' {
		n--
	}
	return text[:n]
}

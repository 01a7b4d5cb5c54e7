// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const defaultDirectory = "/run/hostexec"

// decideTimeout is how long a call waits for the host to choose a carrier. The first instruction of a container
// may be a call. It is a variable so that tests can shorten it.
var decideTimeout = 10 * time.Second

// errNoProcess means that the host cannot start the relay in the container.
const errNoProcess = wire.Error("no process can be started in the container: has it reached its limit, --pids-limit?")

// errNoSpace means that the relay cannot create its socket in the container.
const errNoSpace = wire.Error("no file can be created in /run/hostexec of the container: its disk is full")

// noSpace reports whether the file system of dir has no space or no inode left for the relay.
func noSpace(dir string) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && (fs.Blocks > 0 && fs.Bavail == 0 || fs.Files > 0 && fs.Ffree == 0)
}

// cgroups is the mount point of the container's control groups. It is a variable so that tests can replace it.
var cgroups = "/sys/fs/cgroup"

// relayPids is the number of processes and threads that the start of a relay takes, with the engine's own.
const relayPids = 10

// full reports whether the container's limit leaves no room for a relay. The files are those of cgroup v2, or v1.
func full() bool {
	for _, dir := range [...]string{"/", "/pids/"} {
		now, _ := number(readWord(cgroups + dir + "pids.current"))
		if most, ok := number(readWord(cgroups + dir + "pids.max")); ok && now+relayPids > most { // or max
			return true
		}
	}
	return false
}

// directory returns the mount point of the host's share.
func directory(env []string) string {
	if dir := variable(env, "HOSTEXEC_DIR"); dir != "" {
		return dir
	}
	return defaultDirectory
}

// dial connects to the host. It tries the socket first, which is nearly always the right carrier. If that
// fails, it reads the carrier file, and waits while the carrier is undecided or the relay is starting. A
// relay cannot pass descriptors.
func (c *call) dial(dir string) (sock int, relayed bool, err error) {
	sock, err = connect(dir + "/socket")
	how, pause := "", time.Millisecond
	for waited := time.Duration(0); err != nil; waited += pause {
		how = readWord(dir + "/carrier")
		if how == "relay" {
			if sock, e := connect(dir + "/relay/socket"); e == nil {
				return sock, true, nil
			} else if waited > decideTimeout {
				return -1, false, relayFailure(dir, e)
			}
		}
		if how == "full" && waited > decideTimeout {
			return -1, false, errNoProcess
		}
		if how != "relay" && how != "undecided" && how != "full" || waited > decideTimeout {
			break
		}
		c.listen() // now it costs no time, and signals must end the wait
		pause = min(2*pause, 100*time.Millisecond)
		poll(nil, pause)
		sock, err = connect(dir + "/socket")
	}
	if err != nil && how != "files" {
		sock, err = connect(dir + "/socket") // the host may have decided since
	}
	if err != nil && !knownCarrier(how) {
		err = errCarrier
	}
	return sock, false, err
}

// relayFailure returns the reason why no relay has come, or err. In an attached container, the host cannot write
// another word into the carrier file.
func relayFailure(dir string, err error) error {
	if full() {
		return errNoProcess
	}
	if noSpace(dir + "/relay") {
		return errNoSpace
	}
	return err
}

func connect(path string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
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

// knownCarrier reports whether how is a word of the host (plugin/carrier), or empty.
func knownCarrier(how string) bool {
	switch how {
	case "", "undecided", "full", "socket", "relay", "files", "gone":
		return true
	}
	return false
}

// errCarrier means that the carrier file has a word of another version.
const errCarrier = wire.Error("unknown word in /run/hostexec/carrier")

// readWord reads a file with one word of the host. It returns "" if there is none.
func readWord(file string) string {
	text, _ := read(file, 40)
	n := len(text)
	for n > 0 && text[n-1] <= ' ' {
		n--
	}
	return text[:n]
}

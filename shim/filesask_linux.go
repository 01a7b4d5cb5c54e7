// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"math/rand/v2"
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// writeRequest writes the request. It creates the named pipe before the host can see the request.
func (f *files) writeRequest(req *wire.Exec, share string) error {
	var args []byte
	for i, arg := range req.Args {
		if i > 0 {
			args = append(append(args, arg...), 0)
		}
	}
	syscall.Umask(0) // the host's user may differ from ours
	err := f.put(".cmd", []byte(f.cmdFile(req, share)))
	if err == nil {
		err = f.put(".req.tmp", args)
	}
	if err != nil {
		return err
	}
	if syscall.Mknod(f.id+".bell", syscall.S_IFIFO|0o622, 0) == nil { // on an error the file system has no pipes
		f.wakeupPipe, _ = syscall.Open(f.id+".bell", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	}
	return syscall.Rename(f.id+".req.tmp", f.id+".req")
}

// passedVariables are the variables that the host may need, besides those of the session's --pass-env. Other users
// in the container can read the file, so it must not contain more.
const passedVariables = "TERM\nCOLUMNS\nLINES\nNO_COLOR\nHOSTEXEC_JSON\nHOSTEXEC_TIMEOUT\nHOSTEXEC_APPROVAL_TIMEOUT\nHOSTEXEC_STDIN\n"

// cmdFile returns the content of <id>.cmd: all data for the host besides the arguments.
func (f *files) cmdFile(req *wire.Exec, share string) string {
	text := base(req.Args) + "\x00cwd=" + req.Cwd + "\x00alive=1\x00exit=status\x00"
	if f.wants {
		text += "stdin=stream\x00"
	}
	if req.SameOut {
		text += "out=one\x00"
	}
	more, _ := read(share+"/pass", 16<<10)
	names := passedVariables + more
	for from, i := 0, 0; i < len(names); i++ {
		if names[i] != '\n' {
			continue
		}
		name := names[from:i]
		if value := variable(f.c.env, name); value != "" {
			text += "env=" + name + "=" + value + "\x00"
		}
		from = i + 1
	}
	return text
}

// newID returns a random id.
func newID() string {
	var b [32]byte
	n := rand.Uint64()
	for i := range b {
		if i == 16 {
			n = rand.Uint64()
		}
		b[i] = 'a' + byte(n&15)
		n >>= 4
	}
	return string(b[:])
}

// put creates a file of the call. The file must not exist.
func (f *files) put(what string, text []byte) error {
	fd, err := f.create(what)
	if err == nil {
		err = writeAll(fd, text)
		syscall.Close(fd)
	}
	return err
}

func (f *files) create(what string) (int, error) {
	return syscall.Open(f.id+what, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o644)
}

// errNotRegular means that a file of the call is not a regular file.
const errNotRegular = wire.Error("it is not a regular file")

// openRegular opens a file if it is regular. It follows no link and does not block.
func openRegular(name string, how int) (int, error) {
	fd, err := syscall.Open(name, how|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		syscall.Close(fd)
		return -1, errNotRegular
	}
	return fd, nil
}

// read returns the beginning of a small file, which was written at once.
func read(name string, max int) (string, error) {
	fd, err := openRegular(name, syscall.O_RDONLY)
	if err != nil {
		return "", err
	}
	b := make([]byte, max)
	n, err := syscall.Read(fd, b)
	syscall.Close(fd)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

import (
	"math/rand/v2"
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// ask makes the request. There is a bell before anybody can have seen it.
func (f *files) ask(req *wire.Exec, share string) error {
	var args []byte
	for i, arg := range req.Args {
		if i > 0 {
			args = append(append(args, arg...), 0)
		}
	}
	syscall.Umask(0) // the host's user may be another one
	err := f.put(".cmd", []byte(f.sidecar(req, share)))
	if err == nil {
		err = f.put(".req.tmp", args)
	}
	if err != nil {
		return err
	}
	if syscall.Mknod(f.id+".bell", syscall.S_IFIFO|0o622, 0) == nil { // else the file system has none
		f.bell, _ = syscall.Open(f.id+".bell", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	}
	return syscall.Rename(f.id+".req.tmp", f.id+".req")
}

// passed are the variables that the host may want of a caller, beside those that the
// session's --pass-env names: others of the container could read more in the file.
const passed = "TERM\nCOLUMNS\nLINES\nNO_COLOR\nHOSTEXEC_JSON\nHOSTEXEC_TIMEOUT\nHOSTEXEC_APPROVAL_TIMEOUT\n"

// sidecar is what the host is to know beside the arguments.
func (f *files) sidecar(req *wire.Exec, share string) string {
	text := base(req.Args) + "\x00cwd=" + req.Cwd + "\x00alive=1\x00"
	if f.wants {
		text += "stdin=stream\x00"
	}
	if req.SameOut {
		text += "out=one\x00"
	}
	more, _ := read(share+"/pass", 16<<10)
	names := passed + more
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

// newID is a name that nobody has used, nor will.
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

// put makes a file of the call that is not there yet.
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

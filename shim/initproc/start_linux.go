// SPDX-License-Identifier: Apache-2.0

package initproc

import (
	"syscall"
	"unsafe"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// terminal allocates a terminal of that size in the container, and makes it this process's controlling
// terminal. The command's process group will be in its foreground. The group is not orphaned, because this
// process is its parent, so ^Z can stop it.
func terminal(size wire.Winsize) (master, slave int, err error) {
	master, err = syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	var unlocked, n int32
	if err = ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked)); err != nil {
		return -1, -1, err
	}
	if err = ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&n)); err != nil {
		return -1, -1, err
	}
	slave, err = syscall.Open("/dev/pts/"+decimal(int(n)), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	var t syscall.Termios
	if ioctl(slave, syscall.TCGETS, unsafe.Pointer(&t)) == nil {
		t.Iflag |= syscall.IUTF8 // the erase key deletes a whole character
		ioctl(slave, syscall.TCSETS, unsafe.Pointer(&t))
	}
	ioctl(slave, syscall.TIOCSWINSZ, unsafe.Pointer(&size)) // struct winsize has the same fields
	return master, slave, ioctl(slave, syscall.TIOCSCTTY, nil)
}

// ioctl is not inlined, because each copy makes the shim larger.
//
//go:noinline
func ioctl(fd int, req uintptr, p unsafe.Pointer) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	if errno != 0 {
		return errno
	}
	return nil
}

// lookPath finds a program like execvp(3), but never in the working directory, which the caller controls.
func lookPath(name, path string) (string, error) {
	if slash(name) >= 0 {
		return name, executable(name)
	}
	err := error(syscall.ENOENT)
	for path != "" {
		n := 0
		for n < len(path) && path[n] != ':' {
			n++
		}
		dir := path[:n]
		path = path[min(n+1, len(path)):]
		if dir == "" || dir[0] != '/' {
			continue
		}
		file := dir + "/" + name
		switch e := executable(file); e {
		case nil:
			return file, nil
		case syscall.EACCES:
			err = e // another directory may have a usable one
		}
	}
	return "", err
}

func executable(file string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(file, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return syscall.EACCES
	}
	const execute = 1 // X_OK
	p, err := syscall.BytePtrFromString(file)
	if err != nil {
		return err
	}
	cwd := -100 // AT_FDCWD
	_, _, errno := syscall.Syscall(syscall.SYS_FACCESSAT, uintptr(cwd), uintptr(unsafe.Pointer(p)), execute)
	if errno != 0 {
		return errno
	}
	return nil
}

// decimal formats n, which must not be negative.
func decimal(n int) string {
	if n < 10 {
		return string([]byte{byte('0' + n)})
	}
	return decimal(n/10) + decimal(n%10)
}

// octal parses the octal digits of s.
func octal(s string) (n int) {
	for i := range len(s) {
		n = n<<3 | int(s[i]&7)
	}
	return n
}

// variable returns the value of the first variable called name, as getenv(3) does.
func variable(env []string, name string) string {
	for _, kv := range env {
		if n := len(name); len(kv) > n && kv[:n] == name && kv[n] == '=' {
			return kv[n+1:]
		}
	}
	return ""
}

// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Sandbox is a prepared Spec. Close it when no thread needs to enter it any more.
type Sandbox struct {
	ruleset  *os.File
	filter   []bpf.RawInstruction
	roots    []int    // the files and directories that may be written, opened
	readable []string // the paths that may only be read
}

// Supported returns an error that wraps ErrUnsupported and says what the system lacks, or nil.
var Supported = sync.OnceValue(supported)

func supported() error {
	if err := landlockSupported(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return nil
}

// Prepare builds the Sandbox of spec. The caller closes it, and may close the descriptors of its Files at
// once.
func Prepare(spec Spec) (*Sandbox, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	filter, err := filterFor(spec.Net)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{filter: filter}
	if s.ruleset, err = newRuleset(spec.Net); err == nil {
		err = s.permit(spec)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// permit adds the files of spec to the ruleset.
func (s *Sandbox) permit(spec Spec) error {
	for _, g := range spec.Files {
		if err := s.permitFile(g.FD, g.Access); err != nil {
			return err
		}
	}
	for _, p := range spec.Paths {
		fd, err := unix.Open(p.Name, unix.O_PATH|unix.O_CLOEXEC, 0)
		switch {
		case err == unix.ENOENT || err == unix.ENOTDIR:
			continue
		case err != nil:
			return &os.PathError{Op: "open", Path: p.Name, Err: err}
		}
		err = s.permitFile(fd, p.Access)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Sandbox) permitFile(fd int, access Access) error {
	if err := addFileRule(s.ruleset, fd, access); err != nil || access == Device {
		return err
	}
	if access != Write {
		path, err := pathOf(fd)
		s.readable = append(s.readable, path)
		return err
	}
	root, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	s.roots = append(s.roots, root)
	return nil
}

// PermitTerminal lets programs that are confined later open the terminal behind fd again, as with /dev/stderr. If fd is
// no terminal, it does nothing.
func (s *Sandbox) PermitTerminal(fd int) error {
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
		return nil
	}
	return addFileRule(s.ruleset, fd, Device)
}

// Close releases s. Confined threads stay confined. Close does nothing for the zero Sandbox and for nil.
func (s *Sandbox) Close() error {
	if s == nil {
		return nil
	}
	for _, fd := range s.roots {
		unix.Close(fd)
	}
	s.roots = nil
	if s.ruleset == nil {
		return nil
	}
	return s.ruleset.Close()
}

// Confine permanently confines the calling thread and the processes that it forks. It sets NO_NEW_PRIVS. The goroutine
// must be locked to its thread, and must never be unlocked. The thread must not be the process's first thread. The
// caller serves the returned MetadataServer.
//
// While the thread exists, Landlock permits the program to trace it, because both have the same domain. So Confine
// makes this process not dumpable (prctl(2)): from then on, no other process of the user can read its memory,
// environment and descriptors.
func (s *Sandbox) Confine() (*MetadataServer, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	if err := dropCapabilities(); err != nil {
		return nil, err
	}
	if err := restrict(s.ruleset); err != nil {
		return nil, err
	}
	filter, err := guarded(s.filter, unix.Gettid())
	if err != nil {
		return nil, err
	}
	fd, err := load(filter)
	if err != nil {
		return nil, err
	}
	return newMetadataServer(fd, s.roots, s.readable)
}

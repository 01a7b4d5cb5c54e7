// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Sandbox is a prepared Spec. Close it when no thread needs to enter it any more.
type Sandbox struct {
	spec    Spec
	ruleset *os.File
	held    []int // opened by Prepare
	filter  []bpf.RawInstruction
}

// Supported returns an error that wraps ErrUnsupported and says what the system lacks, or nil.
var Supported = sync.OnceValue(supported)

func supported() error {
	if err := landlockSupported(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return nil
}

// Prepare builds what Confine needs. The caller closes the Sandbox, and keeps the descriptors of the Grants open
// until then.
func Prepare(spec Spec) (*Sandbox, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	filter, err := bpf.Assemble(compile(rulesFor(spec.Net)))
	if err != nil {
		return nil, fmt.Errorf("assemble the seccomp filter: %w", err)
	}
	s := &Sandbox{spec: spec, filter: filter}
	if err := s.hold(); err != nil {
		s.Close()
		return nil, err
	}
	if s.ruleset, err = newRuleset(s.spec); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// hold opens the paths of the Spec.
func (s *Sandbox) hold() error {
	grants := slices.Clone(s.spec.Grants)
	for _, p := range s.spec.Paths {
		fd, err := unix.Open(p.Name, unix.O_PATH|unix.O_CLOEXEC, 0)
		switch {
		case err == unix.ENOENT || err == unix.ENOTDIR:
			continue
		case err != nil:
			return &os.PathError{Op: "open", Path: p.Name, Err: err}
		}
		s.held = append(s.held, fd)
		grants = append(grants, Grant{fd, p.Access})
	}
	s.spec.Grants = grants
	return nil
}

// Close releases s. What was confined stays so.
func (s *Sandbox) Close() error {
	for _, fd := range s.held {
		unix.Close(fd)
	}
	if s.ruleset == nil {
		return nil
	}
	return s.ruleset.Close()
}

// Confine confines the calling thread and what it forks, for ever. The goroutine must be locked to
// its thread, must not be unlocked again, and must have no other threads' work: not the process's
// first thread. NO_NEW_PRIVS is set. The caller serves the returned Metadata.
func (s *Sandbox) Confine() (*Metadata, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	if err := dropCapabilities(); err != nil {
		return nil, err
	}
	if err := restrict(s.ruleset); err != nil {
		return nil, err
	}
	fd, err := load(s.filter)
	if err != nil {
		return nil, err
	}
	return newMetadata(fd, s.spec.Grants)
}

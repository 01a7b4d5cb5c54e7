// SPDX-License-Identifier: Apache-2.0

package call

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// programOf returns the name of a command's program. It is the name of the command, except for Shell and GitPush.
func programOf(name string) string {
	switch name {
	case policy.Shell:
		return "bash"
	case policy.GitPush:
		return "git"
	}
	return name
}

var errChanged = errors.New("it is not the program that the policy names by its sha256")

// notFoundError means that the host has no program with the name of the command.
type notFoundError struct{}

func (notFoundError) Error() string { return "not found on the host" }
func (notFoundError) Unwrap() error { return fs.ErrNotExist }

// findProgram completes the path of the program that a rule or a list runs. It refuses a program that the
// container could have written. Programs of --proxy were checked when the session began, but containers of
// other sessions may have come since.
func (sc *SessionConfig) findProgram(v *policy.Verdict) error {
	if v.TargetContainer() != "" { // it has a bash of its own
		v.Command.Path = "bash"
		return nil
	}
	if v.Place.InContainer() { // it is the image's
		if v.SHA256 != "" {
			return errors.New("the policy has its sha256, which cannot be checked in a container: name the image by its digest")
		}
		return nil
	}
	search := sc.cleanPath(v)
	if v.Command.Path == "" {
		path, ok := "", false
		if sc.Find != nil {
			path, ok = sc.Find(programOf(v.Command.Name))
		}
		if !ok {
			return notFoundError{}
		}
		v.Command.Path = path
	}
	if !v.Place.Confined() {
		if err := sc.checkOthers(v.Command.Path, search, sc.sandboxed); err != nil {
			return fmt.Errorf("%w, by a command in a sandbox: see write in its configuration", err)
		}
	}
	if v.Streams.Whole && v.SHA256 == "" {
		return sc.checkOthers(v.Command.Path, search, sc.others)
	}
	real, err := filepath.EvalSymlinks(v.Command.Path)
	if err != nil {
		return fmt.Errorf("find %s: %w", strconv.QuoteToASCII(v.Command.Path), errors.Unwrap(err))
	}
	if err := sc.programs.checkUnchangeable(v.Command.Path, search, sc.Dirs); err != nil {
		return err
	}
	if v.SHA256 == "" {
		return nil
	}
	if sum, err := knownDigests.of(real); err != nil || sum != v.SHA256 {
		return errors.Join(fmt.Errorf("%s: %w", strconv.QuoteToASCII(v.Command.Path), errChanged), err)
	}
	return nil
}

// checkOthers refuses a program that others than this container could have written. others has the paths that they can
// write, or is nil.
func (sc *SessionConfig) checkOthers(path, search string, others *mount.Table) error {
	if others == nil {
		return nil
	}
	err := sc.programs.checkUnchangeable(path, search, others)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // then it does not run
	}
	return err
}

// cleanPath returns the PATH of a command. If the policy sets it, cleanPath cleans it in v as that of the host is.
func (sc *SessionConfig) cleanPath(v *policy.Verdict) string {
	if path, ok := v.Env.Set["PATH"]; ok {
		path, _ = hostcode.Path(path, sc.Dirs)
		if !v.Place.Confined() && sc.sandboxed != nil {
			path, _ = hostcode.Path(path, sc.sandboxed)
		}
		v.Env.Set = maps.Clone(v.Env.Set) // dc.decided has the same map
		v.Env.Set["PATH"] = path
		return path
	}
	if v.Place.Confined() {
		return osenv.Get(sc.Environ, "PATH")
	}
	return osenv.Get(sc.hostEnviron, "PATH")
}

// knownDigests are the digests of files that look unchanged since they were read.
var knownDigests digestCache

// digestCache holds no lock while it reads a file.
type digestCache struct{ known sync.Map } // of cachedDigest, by path

type cachedDigest struct {
	info fs.FileInfo
	hex  string
}

// of returns the SHA-256 of the file path, in hex.
func (s *digestCache) of(path string) (string, error) {
	f, err := dir.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return "", err
	}
	if was, ok := s.known.Load(path); ok && unchanged(was.(cachedDigest).info, now) {
		return was.(cachedDigest).hex, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	digest := hex.EncodeToString(h.Sum(nil))
	s.known.Store(path, cachedDigest{now, digest})
	return digest, nil
}

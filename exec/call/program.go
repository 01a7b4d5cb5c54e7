// SPDX-License-Identifier: Apache-2.0

package call

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// programOf is the program that runs what is called name.
func programOf(name string) string {
	if name == policy.Shell {
		return "bash"
	}
	return name
}

var errChanged = errors.New("it is not the program whose sha256 the policy names")

// notFoundRunner is that no program of the host's has the name that was called.
type notFoundRunner struct{}

func (notFoundRunner) Error() string { return "not found on the host" }
func (notFoundRunner) Unwrap() error { return fs.ErrNotExist }

// findProgram completes the path of what a rule or a list runs, and refuses a program that
// the container could have written. What --proxy names was looked at when the session
// began.
func (sc *SessionState) findProgram(v *policy.Verdict) error {
	if v.TargetContainer() != "" { // it has a bash of its own
		v.Command.Path = "bash"
		return nil
	}
	if v.Place.Contained() { // it is the image's
		if v.SHA256 != "" {
			return errors.New("the policy has its sha256, which nobody knows in a container: name the image by its digest")
		}
		return nil
	}
	search := sc.search(&v.Env)
	if v.Command.Path == "" {
		path, ok := "", false
		if sc.Find != nil {
			path, ok = sc.Find(programOf(v.Command.Name))
		}
		if !ok {
			return notFoundRunner{}
		}
		v.Command.Path = path
	}
	if v.Profile.Whole && v.SHA256 == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(v.Command.Path)
	if err != nil {
		return fmt.Errorf("find %s: %w", strconv.QuoteToASCII(v.Command.Path), errors.Unwrap(err))
	}
	if err := sc.programs.own(v.Command.Path, search, sc.Dirs); err != nil {
		return err
	}
	if v.SHA256 == "" {
		return nil
	}
	if sum, err := digests.of(real); err != nil || sum != v.SHA256 {
		return errors.Join(fmt.Errorf("%s: %w", strconv.QuoteToASCII(v.Command.Path), errChanged), err)
	}
	return nil
}

// search returns the PATH of a command. The one that the policy sets is cleaned as the host's is.
func (sc *SessionState) search(env *policy.Env) string {
	if path, ok := env.Set["PATH"]; ok {
		path, _ = executor.Path(path, sc.Dirs)
		env.Set["PATH"] = path
		return path
	}
	return osenv.Get(sc.Environ, "PATH")
}

// digests remembers what files hold for as long as they look unchanged.
var digests = sums{known: map[string]sum{}}

type sums struct {
	mu    sync.Mutex // guards the field below
	known map[string]sum
}

type sum struct {
	info fs.FileInfo
	hex  string
}

// of returns the SHA-256 of the file path, in hex.
func (s *sums) of(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.known[path]; ok && unchanged(was.info, now) {
		return was.hex, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	digest := hex.EncodeToString(h.Sum(nil))
	s.known[path] = sum{now, digest}
	return digest, nil
}

// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
)

// mirror is a bare repository of the host with the branches and tags of one remote. Its objects are only removed
// together with the mirror, so that readers need no lock. Prune removes one that was not used for long. initMirror
// removes one without refs, or with another object format than the remote.
type mirror struct {
	dir    string
	hash   string            // sha1 or sha256
	refs   []ref             // of the remote, as git sorts them
	byName map[string]string // id of each ref
}

type ref struct{ id, name string }

// lockPoll is the interval between attempts to lock a mirror.
const lockPoll = 50 * time.Millisecond

// openMirror creates the mirror of the remote if there is none, and makes it equal to the remote. Sessions with the
// same remote share a mirror.
func (s *service) openMirror(ctx context.Context) (*mirror, error) {
	sum := sha256.Sum256([]byte(s.Remote.URL))
	at := filepath.Join(s.Dir, hex.EncodeToString(sum[:8])+mirrorSuffix)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(at + lockSuffix)
	if ok, err := lock.TryLockContext(ctx, lockPoll); err != nil || !ok {
		return nil, fmt.Errorf("lock the copy of the remote: %w", errors.Join(err, context.Cause(ctx)))
	}
	defer lock.Close()
	m := &mirror{dir: at}
	err := noteUse(lock)
	if err == nil {
		err = s.initMirror(ctx, m)
	}
	if err == nil {
		err = s.fetch(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// initMirror creates the repository of m if there is none. It creates a repository without refs again, because its
// object format may not be the remote's. After a failed look at the refs it leaves the repository, because other
// sessions may read it.
func (s *service) initMirror(ctx context.Context, m *mirror) error {
	if err := s.readRefs(ctx, m); err != nil && !errors.Is(err, errNoMirror) {
		return fmt.Errorf("read the copy of the remote: %w", err)
	} else if len(m.refs) > 0 && m.knowsHead() {
		return nil
	}
	out, stderr := limit.Buffer{Max: defaultMaxOutput}, newGitStderr()
	st, err := s.network(ctx, s.Dir, "", &out, stderr, "ls-remote", "--symref", "--", s.Remote.URL, "HEAD", "refs/heads/*")
	if err := stderr.failure(st, err); err != nil {
		return err
	}
	head, hash := parseRemote(out.Bytes())
	if len(m.refs) == 0 || m.hash != hash {
		if _, err := removeMirror(m.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := s.run(ctx, m, s.Dir, "init", "--quiet", "--bare", "--template=", "--object-format="+hash, m.dir); err != nil {
			return err
		}
		m.hash = hash
	}
	if head == "" {
		return nil
	}
	return s.run(ctx, m, m.dir, "symbolic-ref", "HEAD", head)
}

// run runs git on m, in the directory at, without the user's configuration.
func (s *service) run(ctx context.Context, m *mirror, at string, args ...string) error {
	stderr := newGitStderr()
	c := executor.Command{Env: s.confinedEnv(m.dir, ""), Args: slices.Concat(safeSettings, args)}
	st, err := s.git(ctx, c, at, executor.Streams{FD: noFiles, Err: stderr})
	return stderr.failure(st, err)
}

// parseRemote returns the branch of the remote's HEAD, or "", and the format of its objects.
func parseRemote(list []byte) (head, hash string) {
	hash = "sha1"
	for line := range bytes.Lines(list) {
		value, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\t")
		if to, ok := strings.CutPrefix(value, "ref: "); ok && name == "HEAD" && strings.HasPrefix(to, branches) {
			head = to
		} else if len(value) == 64 {
			hash = "sha256"
		}
	}
	return head, hash
}

// fetch makes the refs of m those of the remote.
func (s *service) fetch(ctx context.Context, m *mirror) error {
	stderr := newGitStderr()
	st, err := s.network(ctx, m.dir, "", nil, stderr, "fetch", "--quiet", "--prune", "--no-tags", "--force", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--", s.Remote.URL, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	if err := stderr.failure(st, err); err != nil {
		return err
	}
	return s.readRefs(ctx, m)
}

// errNoMirror means that there is no mirror, or only a part of one: git was killed while it made the mirror, or this host
// crashed, which leaves empty files.
var errNoMirror = errors.New("no copy of the remote")

// readRefs reads the refs of m.
func (s *service) readRefs(ctx context.Context, m *mirror) error {
	m.refs, m.byName = nil, map[string]string{}
	for _, name := range []string{"HEAD", "config", "objects/info"} { // git init makes HEAD early, and this directory last
		fi, err := os.Stat(filepath.Join(m.dir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && fi.Mode().IsRegular() && fi.Size() == 0 {
			return errNoMirror
		} else if err != nil {
			return err
		}
	}
	list := &service{Call: s.Call, mirror: m}
	out, err := list.read(ctx, "", "", "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		m.refs = append(m.refs, ref{id, name})
		m.byName[name] = id
	}
	if m.hash = "sha1"; len(m.refs) > 0 && len(m.refs[0].id) == 64 {
		m.hash = "sha256"
	}
	return nil
}

// knowsHead reports whether the branch of HEAD exists.
func (m *mirror) knowsHead() bool {
	b, err := os.ReadFile(filepath.Join(m.dir, "HEAD"))
	name, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: ")
	return err == nil && ok && m.byName[name] != ""
}

// zero returns the id that stands for no object.
func (m *mirror) zero() string {
	if m.hash == "sha256" {
		return strings.Repeat("0", 64)
	}
	return strings.Repeat("0", 40)
}

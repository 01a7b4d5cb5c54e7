// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const (
	socketName = "docker.sock"
	// maxPath is the maximum length of a socket's path for clients (unix(7)); macOS has four bytes less.
	maxPath = 103
	// pruneAge is the time after which a directory without a lock is removed.
	pruneAge = time.Minute
)

// Socket is the socket of a running proxy. Each Socket has a private directory in the state directory. The directory is
// locked as long as the proxy runs.
type Socket struct {
	*net.UnixListener
	Path string // for DOCKER_HOST

	dir     string // in the state directory
	runtime string // in the user's runtime directory, or ""
	lock    *flock.Flock
}

// Listen creates a socket that only this user can connect to. It is at path or, if path is "", in a directory of its
// own. This directory is in the user's runtime directory, if there is one: the state directory is below the home
// directory, which containers may mount.
func Listen(store *state.Store, path string) (*Socket, error) {
	dir := filepath.Join(store.APIProxies(), names.RandomHex(6))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the API proxy: %w", err)
	}
	s := &Socket{dir: dir, lock: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))}
	if err := s.listen(store, path); err != nil {
		_ = s.Close() // the first error counts
		return nil, err
	}
	return s, nil
}

func (s *Socket) listen(store *state.Store, path string) (err error) {
	if _, err := s.lock.TryLock(); err != nil {
		return fmt.Errorf("lock the directory of the API proxy: %w", err)
	}
	if path != "" {
		if s.Path, err = freePath(path); err == nil {
			err = checkSocketDir(store, filepath.Dir(s.Path))
		}
	} else {
		s.Path, err = s.privatePath()
	}
	if err != nil {
		return err
	}
	if len(s.Path) > maxPath {
		return cli.Hint(fmt.Errorf("the path of the socket, %s, has more than %d bytes: no client could connect", s.Path, maxPath),
			"set HOSTEXEC_HOME to a shorter directory, or use --listen PATH")
	}
	s.UnixListener, err = socket.Bind(filepath.Dir(s.Path), filepath.Base(s.Path), 0o600)
	return err
}

// privatePath returns the path of a socket in a directory of its own. Prune finds the directory.
func (s *Socket) privatePath() (string, error) {
	dir, ok := runtimeDir()
	if !ok {
		return filepath.Join(s.dir, socketName), nil
	}
	dir = filepath.Join(dir, "hostexec-"+filepath.Base(s.dir))
	if err := os.WriteFile(runtimeFile(s.dir), []byte(dir), 0o600); err != nil {
		return "", fmt.Errorf("record the directory of the socket: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of the socket: %w", err)
	}
	s.runtime = dir
	return filepath.Join(dir, socketName), nil
}

// removeRuntime removes the directory of a socket in the user's runtime directory, if it exists.
func removeRuntime(dir string) error {
	for _, path := range []string{filepath.Join(dir, socketName), dir} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func runtimeFile(dir string) string { return filepath.Join(dir, "runtime") }

// freePath returns path as an absolute path without links in its directories. At path there may be nothing, or the
// socket of a proxy that was killed.
func freePath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	var dir string
	if err == nil {
		dir, err = filepath.EvalSymlinks(filepath.Dir(abs))
	}
	if err != nil {
		return "", fmt.Errorf("--listen: %w", err)
	}
	abs = filepath.Join(dir, filepath.Base(abs))
	fi, err := os.Lstat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return abs, nil
	case err != nil:
		return "", fmt.Errorf("--listen: %w", err)
	case fi.Mode().Type() != fs.ModeSocket:
		return "", fmt.Errorf("--listen %s: it exists, and is not a socket", names.Quoted(path))
	}
	if c, err := state.Dial(dir, filepath.Base(abs)); err == nil {
		c.Close()
		return "", fmt.Errorf("--listen %s: another process listens there", names.Quoted(path))
	}
	return abs, nil
}

// checkSocketDir returns an error if another user or a container could replace a socket in dir. Clients would then send
// secrets to a foreign process instead of the engine.
func checkSocketDir(store *state.Store, dir string) error {
	hint := "name a path in a directory that only you can write"
	fi, err := os.Stat(dir)
	if err == nil && fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0 {
		return cli.Hint(fmt.Errorf("--listen: every user could replace a socket in %s", names.Quoted(dir)), hint)
	}
	writable, werr := launch.ContainersWrite(store, dir)
	if err := errors.Join(err, werr); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if writable {
		return cli.Hint(fmt.Errorf("--listen: a container could replace a socket in %s", names.Quoted(dir)), hint)
	}
	return nil
}

// Host returns the value of DOCKER_HOST for clients of the proxy.
func (s *Socket) Host() string { return "unix://" + s.Path }

// Close removes the socket and its directory.
func (s *Socket) Close() error {
	var err error
	if s.UnixListener != nil {
		err = errors.Join(ignoreClosed(s.UnixListener.Close()), os.Remove(s.Path))
	}
	if s.runtime != "" {
		err = errors.Join(err, removeRuntime(s.runtime))
	}
	return errors.Join(err, os.RemoveAll(s.dir), s.lock.Close())
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Context is a docker context that a proxy has created.
type Context struct{ Name, Host string }

// Record notes a context before it is created, so that Prune can remove it.
func (s *Socket) Record(c Context) error {
	b, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(contextFile(s.dir), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("record context %s: %w", c.Name, err)
	}
	return nil
}

func contextFile(dir string) string { return filepath.Join(dir, "context.json") }

// Prune removes the directories of API proxies that were killed. It calls remove for each context that they had
// created.
func Prune(store *state.Store, remove func(Context) error) error {
	dirs, _ := filepath.Glob(filepath.Join(store.APIProxies(), "*")) // the pattern is valid
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, pruneDir(dir, remove))
	}
	return errors.Join(errs...)
}

func pruneDir(directory string, remove func(Context) error) error {
	l := state.ExistingLock(filepath.Join(directory, "lock"))
	defer l.Close()
	free, err := l.TryLock()
	if errors.Is(err, fs.ErrNotExist) { // its proxy is about to lock it, or was killed before
		fi, serr := os.Stat(directory)
		free, err = serr == nil && time.Since(fi.ModTime()) > pruneAge, nil
	}
	if err != nil || !free {
		return err
	}
	var c Context
	if b, err := dir.ReadPlain(contextFile(directory)); err == nil && json.Unmarshal(b, &c) == nil && c.Name != "" {
		if err := remove(c); err != nil {
			return fmt.Errorf("remove context %s: %w", names.Quoted(c.Name), err)
		}
	}
	if b, err := dir.ReadPlain(runtimeFile(directory)); err == nil {
		if err := removeRuntime(string(b)); err != nil {
			return fmt.Errorf("remove the directory of a socket: %w", err)
		}
	}
	return os.RemoveAll(directory)
}

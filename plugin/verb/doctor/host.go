// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// makeScratch creates a directory for tests in the state directory or, if that does not exist, in the nearest
// existing parent.
func (d *doctor) makeScratch() (string, error) {
	dir := d.store.Home
	for {
		_, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	scratch, err := os.MkdirTemp(dir, ".hostexec-doctor-")
	if limit.DiskFull(err) {
		err = hintSpace(err, dir)
	}
	return scratch, err
}

// hintSpace adds a hint about a full disk to err. A disk can have space, but no inodes.
func hintSpace(err error, dir string) error {
	dir = policy.CommandLine([]string{dir})
	return cli.Hint(err, "df -h "+dir+"; df -i "+dir+", and make space there")
}

// needsScratch returns the finding of a probe that needs a scratch directory.
func (d *doctor) needsScratch() finding {
	return finding{Status: isFail, Found: d.scratchErr.Error(), Means: "nothing can be written in the state directory: no session can start", Fix: fixOf(d.scratchErr, "set HOSTEXEC_HOME to a directory of your own")}
}

// fileEvents checks the notifications about files, which the files carrier needs.
func (d *doctor) fileEvents() finding {
	if d.scratchErr != nil {
		return d.needsScratch()
	}
	if err := awaitEvent(d.scratch); err != nil {
		return finding{Status: isWarn, Found: err.Error(), Means: "requests by files are found by polling, which is slower; sockets and relays need no events", Fix: "sudo sysctl fs.inotify.max_user_instances=1024, or a state directory on a local file system"}
	}
	return finding{Status: isOK, Found: "new files in the state directory are reported", Means: "requests by files are noticed at once"}
}

func awaitEvent(dir string) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	defer w.Close()
	if err := w.Add(dir); err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "event"), 0o700); err != nil { // a directory can often be created on a full disk, too
		return err
	}
	select {
	case <-w.Events:
		return nil
	case err := <-w.Errors:
		return fmt.Errorf("watch %s: %w", dir, err)
	case <-time.After(probeTimeout):
		return fmt.Errorf("a new file in %s was not reported within %s", dir, probeTimeout)
	}
}

// sockets checks sockets on the file system of the state directory, and the lengths of their paths.
func (d *doctor) sockets() finding {
	if d.scratchErr != nil {
		return d.needsScratch()
	}
	if err := testSocket(d.scratch); err != nil {
		return finding{Status: isFail, Found: err.Error(), Means: "watchers cannot be reached on that file system", Fix: "set HOSTEXEC_HOME to a directory on a local file system"}
	}
	n := len(state.ControlSock(d.store.Dir("0123456789ab")))
	f := finding{Status: isOK, Found: fmt.Sprintf("socket paths: %d of at most %d bytes", n, state.MaxSocketPath), Means: "watchers can be reached"}
	if n > state.MaxSocketPath {
		f.Status, f.Fix = isWarn, "set HOSTEXEC_HOME to a shorter path"
		f.Means = "hostexec reaches them through /proc; other programs, such as curl --unix-socket, cannot"
		if runtime.GOOS != "linux" {
			f.Status, f.Means = isFail, "watchers cannot be reached"
		}
	}
	return f
}

// testSocket connects to a socket in dir.
func testSocket(dir string) error {
	ln, err := socket.Bind(dir, "socket", 0o600)
	if err != nil {
		return err
	}
	defer ln.Close()
	conn, err := state.Dial(dir, "socket") // the backlog accepts the connection
	if err != nil {
		return fmt.Errorf("connect to a socket in %s: %w", dir, err)
	}
	return conn.Close()
}

// locks checks that a lock excludes a second one.
func (d *doctor) locks() finding {
	if d.scratchErr != nil {
		return d.needsScratch()
	}
	if err := testLock(filepath.Join(d.scratch, "lock")); err != nil {
		return finding{Status: isFail, Found: err.Error(), Means: "two watchers could serve one session", Fix: "set HOSTEXEC_HOME to a directory on a local file system"}
	}
	return finding{Status: isOK, Found: "locks work in the state directory", Means: "a session has one watcher, and a user one page"}
}

// errLocked means that another process has a lock.
var errLocked = errors.New("another process has the lock")

func testLock(path string) error {
	one, other := flock.New(path), flock.New(path)
	defer one.Close()
	defer other.Close()
	if ok, err := one.TryLock(); err != nil || !ok {
		return fmt.Errorf("lock %s: %w", path, cmp.Or(err, errLocked))
	}
	switch ok, err := other.TryLock(); {
	case err != nil:
		return fmt.Errorf("lock %s: %w", path, err)
	case ok:
		return fmt.Errorf("two processes have the lock %s at once", path)
	}
	if err := one.Unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", path, err)
	}
	if ok, err := other.TryLock(); err != nil || !ok {
		return fmt.Errorf("lock %s after its release: %w", path, cmp.Or(err, errLocked))
	}
	return nil
}

// stateDirectory checks who can read and write the state directory, and whether the shims in it can run.
func (d *doctor) stateDirectory() finding {
	home := d.store.Home
	_, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.scratchErr == nil:
		return finding{Status: isOK, Found: home + " does not exist yet", Means: "the first session creates it"}
	case err == nil:
		err = state.CheckPrivate(home)
	}
	if err == nil {
		err = d.scratchErr
	}
	if err == nil {
		err = launch.CheckExec(home)
	}
	if err == nil {
		err = d.checkSpace()
	}
	if err != nil {
		return finding{Status: isFail, Found: err.Error(), Means: "no session can start, or no call can be recorded: then none runs", Fix: fixOf(err, "set HOSTEXEC_HOME to a directory of your own")}
	}
	return finding{Status: isOK, Found: home + " is yours alone", Means: "only you can write the files that decide what runs"}
}

// neededSpace is the free space that hostexec needs, in bytes: some hundred records of the audit log.
const neededSpace = 256 << 10

// checkSpace returns an error if there is no space for audit records, without which no command runs.
func (d *doctor) checkSpace() error {
	file := filepath.Join(d.scratch, "space")
	defer os.Remove(file)
	err := os.WriteFile(file, make([]byte, neededSpace), 0o600)
	if err == nil {
		return nil
	}
	return hintSpace(fmt.Errorf("%s has less than %d KiB left: %w", d.store.Home, neededSpace>>10, err), d.store.Home)
}

// fixOf returns err's own hint, or other.
func fixOf(err error, other string) string {
	if next := cli.HintOf(err); next != "" {
		return next
	}
	if p := (*state.NotPrivateError)(nil); errors.As(err, &p) {
		return p.Fix
	}
	return other
}

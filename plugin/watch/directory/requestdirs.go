// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// requestDirs are the directories of requests of a session without a container, and their locks.
type requestDirs struct {
	record *watch.Record
	log    *slog.Logger
	base   *dir.Base // the directories are below it; open until close

	mu       sync.Mutex                   // guards the fields below
	dirs     map[string]*dir.UntrustedDir // by command; nil when the clients have been removed
	locks    map[string]*state.ProxyLock
	notes    []string          // for a person, at the start
	say      func(text string) // tells the person later; nil: notes is not read yet
	unserved unserved
}

// hold opens the base directory, and stores its identity in the record.
func (d *requestDirs) hold() error {
	base, err := dir.OpenBase(d.record.Session().Proxy.Base)
	if err != nil {
		return err
	}
	d.base, d.dirs, d.locks = base, map[string]*dir.UntrustedDir{}, map[string]*state.ProxyLock{}
	d.unserved = unserved{paths: map[string]string{}}
	key, err := base.Key()
	d.record.Change(func(rec *state.Session) {
		proxy := *rec.Proxy
		proxy.Real, proxy.Key = base.Real(), key
		rec.Proxy = &proxy
	})
	return err
}

const pidSuffix = ".pid"

// publish writes the clients, so that callers can call.
func (d *requestDirs) publish() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.publishLocked(d.record.Session().Names())
}

// publishLocked writes the clients of commands, and a PID file beside each client.
func (d *requestDirs) publishLocked(commands []string) error {
	clientMode, pidMode := fs.FileMode(0o700), fs.FileMode(0o600)
	if d.record.Session().Proxy.AnyUser {
		clientMode, pidMode = 0o755, 0o644
	}
	for _, name := range commands {
		requests := d.dirs[name]
		c := files.Client{Command: name, Dir: requests.Path(), Pass: d.record.Session().PassEnv}
		if err := requests.Put(name, c.Script(), clientMode); err != nil {
			return fmt.Errorf("write the client for %s: %w", name, err)
		}
		if err := requests.Put(name+pidSuffix, []byte(strconv.Itoa(os.Getpid())+"\n"), pidMode); err != nil {
			return fmt.Errorf("write the PID file of %s: %w", name, err)
		}
	}
	return nil
}

// unpublish removes the files that publishLocked has written.
func (d *requestDirs) unpublish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, requests := range d.dirs {
		requests.Remove(name)
		requests.Remove(name + pidSuffix)
	}
	d.dirs = nil // once: these names may belong to other files later
}

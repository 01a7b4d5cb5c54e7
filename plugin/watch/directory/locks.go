// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// open returns the directories of requests, and takes their locks.
func (d *requestDirs) open() (dirs []files.RequestDir, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.record.Session().Proxy.AnyUser {
		d.note(replaceableWarnings(d.record.Session().Proxy.Base)...)
	}
	size := 1
	if d.record.Session().Proxy.Flat {
		size = len(d.record.Session().Commands)
	}
	for commands := range slices.Chunk(d.record.Session().Names(), size) {
		p, err := d.openLocked(commands)
		if err != nil {
			return dirs, err
		}
		dirs = append(dirs, p)
	}
	return dirs, nil
}

// openLocked creates the directory of requests for commands, and takes its locks.
func (d *requestDirs) openLocked(commands []string) (p files.RequestDir, err error) {
	_, rest := d.record.Session().Proxy.Dir(commands[0])
	requests, err := d.makeDir(rest)
	if err != nil {
		return p, err
	}
	d.writeGitignore()
	key, err := requests.Key()
	for _, name := range commands {
		if err == nil {
			err = d.lock(requests, key, name)
		}
	}
	if err != nil {
		return p, errors.Join(err, requests.Close())
	}
	p = files.RequestDir{Dir: requests, Commands: commands, Cwd: func() string { return d.record.Session().InvokedIn }, Allows: d.mayCall()}
	p.Renew = func() (files.RequestDir, error) {
		renewed, err := d.renew(commands)
		if !errors.Is(err, watch.ErrGone) {
			d.reportRenewal(commands[0], err)
		}
		return renewed, err
	}
	p.Repair = func() error {
		err := d.repair(commands)
		if err == nil && requests.InPlace() { // it may have been put back
			d.reportRenewal(commands[0], nil)
		}
		return err
	}
	if d.record.Session().Proxy.Flat {
		own := map[string]bool{}
		for _, name := range commands {
			own[name] = true
		}
		p.Others = func() []string { return d.record.Store.ProxyLocks().Served(key, own) }
	}
	return p, nil
}

// renew creates the directory of requests for commands again, after it was deleted or replaced. The directory
// above is the one that was checked at the start.
func (d *requestDirs) renew(commands []string) (files.RequestDir, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs == nil {
		return files.RequestDir{}, watch.ErrGone
	}
	if !d.base.InPlace() {
		return files.RequestDir{}, fmt.Errorf("%s was moved or replaced: start docker hostexec proxy again", d.record.Session().Proxy.Base)
	}
	defer func(notes []string) { d.notes = notes }(d.notes) // new notes are not shown after the start
	p, err := d.openLocked(commands)
	if err != nil {
		return p, err
	}
	if err := d.publishLocked(commands); err != nil {
		return p, errors.Join(err, p.Dir.Close())
	}
	return p, nil
}

// repair writes missing clients and PID files of commands, and .gitignore.
func (d *requestDirs) repair(commands []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs == nil {
		return nil // the session ends
	}
	if !d.dirs[commands[0]].InPlace() {
		return nil // renew creates it again
	}
	d.writeGitignore()
	var missing []string
	for _, name := range commands {
		requests := d.dirs[name]
		_, client := requests.Stat(name)
		_, pid := requests.Stat(name + pidSuffix)
		if errors.Is(client, fs.ErrNotExist) || errors.Is(pid, fs.ErrNotExist) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return d.publishLocked(missing)
}

// writeGitignore makes git ignore the directory .hostexec, so that git clean -fd keeps it. Calls need no such file, so
// a failure is only logged.
func (d *requestDirs) writeGitignore() {
	if d.record.Session().Proxy.Flat {
		return // the person has named a directory
	}
	first, _, _ := strings.Cut(d.record.Session().Proxy.RelativePath, string(filepath.Separator))
	top, err := d.base.Open(first)
	if err == nil {
		defer top.Close()
		const name = ".gitignore"
		if _, serr := top.Stat(name); errors.Is(serr, fs.ErrNotExist) {
			err = top.Put(name, []byte("*\n"), 0o644)
		}
	}
	if err != nil {
		d.log.Warn("git does not ignore the directory of requests", "error", err)
	}
}

// lock takes the lock of name in requests.
func (d *requestDirs) lock(requests *dir.UntrustedDir, key, name string) error {
	if old := d.locks[name]; old != nil { // of a directory that was deleted
		delete(d.locks, name)
		if err := old.Close(); err != nil {
			return err
		}
	}
	l, err := d.record.Store.ProxyLocks().Lock(key, name)
	if err != nil {
		return err
	}
	d.locks[name], d.dirs[name] = l, requests
	if err := d.checkPID(l, requests, name); err != nil {
		return err
	}
	return l.WritePID()
}

// checkPID reads the PID file of another process. It returns an error if that process still serves name.
func (d *requestDirs) checkPID(l *state.ProxyLock, requests *dir.UntrustedDir, name string) error {
	text, _, err := requests.Read(name+pidSuffix, 32)
	pid, perr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || perr != nil || pid <= 0 {
		return nil // there is no PID file, or a caller has written it
	}
	why := "no longer running"
	if pid != l.PreviousPID() && pid != os.Getpid() && state.ProcessAlive(pid) {
		why = "is another process"
		if requests.OpenedBy(pid) { // a proxy with another HOSTEXEC_HOME, and so with other locks
			return &state.ProxyRunning{Command: name, PID: pid}
		}
	}
	d.note(fmt.Sprintf("removing stale PID file (PID %d %s)", pid, why))
	return nil
}

// close closes the directories and releases their locks.
func (d *requestDirs) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := []error{d.base.Close()}
	for _, l := range d.locks {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// A user who can create a file in a directory of requests can run commands as its owner. So only the owner can use the
// directories, unless a person has opened them with --any-user.

// makeDir creates and opens the directory of requests at rest, and checks which users can use it.
func (d *requestDirs) makeDir(rest string) (*dir.UntrustedDir, error) {
	p := d.record.Session().Proxy
	access := dir.ForOwner
	if p.AnyUser {
		access = dir.ForEveryone
	}
	made, err := d.base.Make(rest, access)
	if err != nil {
		return nil, err
	}
	if p.AnyUser {
		d.note(openNotes(made.Steps())...)
		return made, nil
	}
	if err := refuseShared(made.Steps(), os.Geteuid()); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

// mayCall returns a function that reports whether the requests of a user are served, or nil if those of all users are.
func (d *requestDirs) mayCall() func(uid int) bool {
	if d.record.Session().Proxy.AnyUser {
		return nil
	}
	own := os.Geteuid()
	return func(uid int) bool { return uid == own || uid == 0 }
}

// allNotes returns the notes for a person, for example about stale PID files. Later ones are passed to say.
func (d *requestDirs) allNotes(say func(text string)) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say = say
	return slices.Clone(d.notes)
}

// note adds notes for a person that do not exist yet.
func (d *requestDirs) note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(d.notes, n) {
			d.notes = append(d.notes, n)
		}
	}
}

// refuseShared refuses directories in which other users than uid can create requests, or that they can replace. The
// group's permissions also stand for an access control list (acl(5)).
func refuseShared(steps []dir.Step, uid int) error {
	for i, s := range steps {
		last, perm := i == len(steps)-1, s.Mode.Perm()
		sticky := s.Mode&os.ModeSticky != 0
		open := "hint: chmod 700 " + s.Path + ", or open it to all of them with --any-user"
		switch {
		case last && sticky && perm&0o022 != 0: // /tmp, for example, whose mode must not change
			return fmt.Errorf("requests in %s: other users can use it (mode %04o), and would run commands as you\nhint: use a directory of your own, such as --dir %s",
				s.Path, 0o1000|perm, filepath.Join(s.Path, "requests"))
		case s.UID != uid && (last || s.UID != 0):
			return fmt.Errorf("requests in %s: it belongs to uid %d, not to you (uid %d)\nhint: chown %d %s, or use another --dir", s.Path, s.UID, uid, uid, s.Path)
		case perm&0o022 != 0 && !sticky:
			return fmt.Errorf("requests in %s: other users can use it (mode %04o), and would run commands as you\n%s", s.Path, perm, open)
		case last && perm&0o077 != 0:
			return fmt.Errorf("requests in %s: other users can enter it (mode %04o), and would see what commands read and write\n%s", s.Path, perm, open)
		}
	}
	return nil
}

// openNotes returns the effects of --any-user on directories, and the directories that are too private for it.
func openNotes(steps []dir.Step) []string {
	last := steps[len(steps)-1]
	notes := []string{fmt.Sprintf("warning: --any-user: every user of this host who can enter %s runs these commands as you", last.Path)}
	for i, s := range steps {
		need, chmod := os.FileMode(0o001), os.FileMode(0o711)
		if i == len(steps)-1 {
			need, chmod = 0o003, 0o777
		}
		if s.Mode&need != need {
			notes = append(notes, fmt.Sprintf("warning: other users cannot use %s (mode %04o): chmod %o %s", s.Path, s.Mode.Perm(), chmod, s.Path))
		}
	}
	return notes
}

// replaceableWarnings warns if every user can replace base, or a directory above it: containers would then call another
// user's proxy.
func replaceableWarnings(base string) []string {
	for at := base; ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		if err == nil && fi.Mode().Perm()&0o002 != 0 && fi.Mode()&os.ModeSticky == 0 {
			return []string{fmt.Sprintf("warning: every user can replace what is in %s (mode %04o), and answer calls in place of this proxy: chmod o-w %s", at, fi.Mode().Perm(), at)}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

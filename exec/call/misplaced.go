// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// workdirMismatch answers a request whose working directory has no counterpart on the host, or one that
// cannot be held open; lost says which.
func workdirMismatch(sc *SessionState, req *request, lost error) Failure {
	e := Failure{Status: StatusRefused, Name: quoteWord(req.Args[0]), Request: req.ID, Hint: elsewhere(sc)}
	switch {
	case req.Cwd != "" && len(sc.Dirs.Targets()) == 0 && (errors.Is(lost, dir.ErrDeleted) || errors.Is(lost, fs.ErrNotExist)):
		e.Reason = "workdir mismatch: the host's directory where commands run was deleted"
		e.Hint = "start " + sc.start() + " in a directory that exists"
	case req.Cwd == "", errors.Is(lost, dir.ErrDeleted), errors.Is(lost, fs.ErrNotExist):
		e.Reason, e.Hint = "workdir mismatch: the current directory was deleted", "change to a directory that exists"
	case errors.Is(lost, mount.ErrMismatch):
		e.Reason = "workdir mismatch: " + names.Quoted(req.Cwd) + " is not mounted from the host"
	default:
		e.Reason = "workdir mismatch: " + names.Plain(lost.Error())
	}
	return e
}

// elsewhere says in which directories calls can be made.
func elsewhere(sc *SessionState) string {
	if at := sc.Dirs.Targets(); len(at) > 0 {
		for i := range at {
			at[i] = names.Quoted(at[i])
		}
		return "change to a directory below " + strings.Join(at, " or ")
	}
	option := "start " + sc.start() + " --workdir-host DIR to name the host's directory"
	if d := sc.Dirs.Default(); d.Target != "" {
		return "change to " + names.Quoted(d.Target) + ", or " + option
	}
	return option
}

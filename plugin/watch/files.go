// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"net"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// listenFiles serves requests from the container's directory of requests. The file share/carrier exists during
// that time: a client that gets no answer looks for it.
func (c *Carriers) listenFiles() (net.Listener, error) {
	var dirs []files.RequestDir
	for _, name := range append(c.record.Session().Linked(), shimName) {
		// Every user of the container may write, and no other user of this host: the session's directory is private.
		requests, err := dir.MakeUntrustedDir(c.record.Dir, filepath.Join(filepath.Base(state.RequestsDir(c.record.Dir)), name), dir.ForEveryone)
		if err != nil {
			return nil, errors.Join(err, CloseRequestDirs(dirs))
		}
		dirs = append(dirs, files.RequestDir{Dir: requests, Commands: []string{name}, Cwd: c.calls.Workdir})
	}
	c.ByFiles = true
	ln, err := files.Listen(dirs, c.log, &c.calls.Server.Limits)
	if err != nil {
		return nil, errors.Join(err, CloseRequestDirs(dirs))
	}
	mark := filepath.Join(state.ShareDir(c.record.Dir), carrier.File)
	if err := carrier.Decide(state.ShareDir(c.record.Dir), carrier.ByFiles); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &removedOnClose{ln, mark}, nil
}

const shimName = "hostexec"

// CloseRequestDirs closes the directories of requests.
func CloseRequestDirs(dirs []files.RequestDir) error {
	var errs []error
	for _, p := range dirs {
		errs = append(errs, p.Dir.Close())
	}
	return errors.Join(errs...)
}

// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// errRemoved means that status cannot list the session, and stop cannot stop it.
var errRemoved = errors.New("the session has ended, because its files were removed")

// removalInterval is the interval at which a session looks for its control socket. A user has few inotify instances, so
// a session takes none for this.
const removalInterval = 5 * time.Second

// watchRemoval ends the session when its control socket is gone, for example because a person has removed the session's
// directory. Only the second check without a socket ends it: a launcher that fails removes the directory while this
// process still removes the container.
func (s *Session) watchRemoval(ctx context.Context) {
	socket := state.ControlSock(s.Record.Dir)
	for missing := 0; missing < 2; {
		if !Pause(ctx, removalInterval) {
			return
		}
		if _, err := os.Lstat(socket); errors.Is(err, fs.ErrNotExist) {
			missing++
		} else {
			missing = 0
		}
	}
	s.Life.Stop(fmt.Errorf("%w: %s is missing", errRemoved, names.Quoted(socket)))
}

// reportRemoval says at the terminal where the session was started that why has ended it, if that is errRemoved. The
// launcher of an agent or a proxy still runs, and reports it itself.
func (s *Session) reportRemoval(why error) {
	rec := s.Record.Session()
	if !errors.Is(why, errRemoved) || rec.Proxy != nil || rec.Agent != nil {
		return
	}
	notify.Terminal(rec.Terminal).Say(fmt.Sprintf("hostexec: container %s: %s\r\n"+
		"hostexec: hint: create the container again; to end a session, type docker hostexec stop", names.Plain(rec.ContainerName), names.Plain(why.Error())))
}

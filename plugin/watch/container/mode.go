// SPDX-License-Identifier: Apache-2.0

// Package container is the mode of a watcher for the calls of a container. It checks the container before the first
// call is answered, and follows its starts, stops and renames. It keeps a relay in the container if sockets of this
// host do not work there.
package container

import (
	"context"
	"net"
	"time"

	"github.com/gofrs/flock"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Mode is the watch.Mode for the calls of a container. It has more methods than other types, because many are for
// sessions that exist before their container, as those of dev containers do (followService).
type Mode struct {
	s         *watch.Session
	mounts    *mountCheck
	admission *admission
	chooser   *carrierChooser
	leftovers leftovers
	killer    *killer
	requests  requestLimit
	name      nameFollower
	lastEnd   time.Time    // when the last container of followService ended
	lease     *flock.Flock // held once no container is expected, until this process ends
}

func (m *Mode) Listen(s *watch.Session) ([]net.Listener, error) {
	m.s = s
	m.mounts = &mountCheck{record: s.Record, config: s.Config, sessions: s.Others, notifier: s.Calls.Questions.Notifier}
	m.killer = &killer{record: s.Record, calls: s.Calls, log: s.Log}
	m.admission = &admission{started: make(chan struct{}, 1), mounts: m.mounts, killer: m.killer, engine: s.Engine, life: s.Life}
	m.chooser = &carrierChooser{record: s.Record, carriers: s.Carriers, log: s.Log, running: m.admission.containerKnown.pass}
	m.leftovers = leftovers{s.Record, s.Log}
	m.name = nameFollower{s.Calls, s.Log, m.admission.mayHaveStarted}
	m.requests = requestLimit{s.Record, s.Calls, m.killer, s.Log}
	if s.Record.Session().DevContainer != nil {
		m.admission.containerKnown.shut() // before the listeners are served
	}
	return s.Carriers.Open()
}

func (m *Mode) Admit(ctx context.Context) bool { return m.admission.admit(ctx) }

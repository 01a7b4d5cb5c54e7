// SPDX-License-Identifier: Apache-2.0

// Package directory is the mode of a watcher for calls that arrive as files in directories of this host. A container
// may mount such a directory, but this package does not depend on containers.
package directory

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Mode is the watch.Mode for the requests of processes that can write their files: those of this user and of root, or
// with AnyUser those of all users. The session has no container, and ends with docker hostexec proxy.
type Mode struct {
	s      *watch.Session
	dirs   *requestDirs
	files  *files.Listener
	ending chan struct{} // closed when the session must end after its calls
}

// Listen takes the locks, creates the directories, and serves their requests.
func (m *Mode) Listen(s *watch.Session) ([]net.Listener, error) {
	m.s, m.ending = s, make(chan struct{})
	s.Carriers.Decide(carrier.ByFiles, "it was asked for")
	m.dirs = &requestDirs{record: s.Record, log: s.Log}
	if err := m.dirs.hold(); err != nil {
		return nil, err
	}
	m.adapt()
	dirs, err := m.dirs.open()
	if err == nil {
		err = m.configureCalls() // requests that exist already are read at once
	}
	if err == nil {
		err = m.refuse()
	}
	if err == nil {
		s.Record.Change(func(rec *state.Session) { rec.Writable = s.Calls.Dirs().WritableSources() })
		err = s.Record.Save()
	}
	if err == nil {
		m.files, err = files.Listen(dirs, s.Log, &s.Calls.Server.Limits)
	}
	if err == nil {
		// This comes after the watch of the directory, so that no call is missed.
		err = m.dirs.publish()
	}
	if err != nil {
		m.dirs.unpublish() // callers would wait for an answer
		return nil, errors.Join(err, watch.CloseRequestDirs(dirs), m.dirs.close())
	}
	s.Life.Interrupt = m.requestEnd
	s.AtEnd(m.dirs.close)
	return []net.Listener{m.files}, nil
}

// adapt replaces programs that the container of another session can write, as Record.Adapt does.
func (m *Mode) adapt() {
	others := mount.WritableTable(nil)
	m.s.Others.AddTo(others)
	m.dirs.note(m.s.Record.Adapt(others, m.s.Config.Environ)...)
}

// refuse refuses a session if its callers could change the notifier, or the container of another session could
// change a program of this one.
func (m *Mode) refuse() error {
	notifier := m.s.Calls.Questions.Notifier
	if at, ok := watch.WritableNotifier(notifier, m.s.Calls.Dirs()); ok {
		return fmt.Errorf("processes that make requests can change %s, which notify.command names: move it elsewhere", at)
	}
	return m.s.Others.CheckPrograms(watch.ProtectedFiles(m.s.Record, m.s.Config, notifier), m.s.Config.Environ)
}

func (m *Mode) Admit(context.Context) bool { return true }

// Follow waits for the calls in flight after the message drain, TERM or INT, for Proxy.Grace at most. It does not wait
// if the launcher has exited, or after docker hostexec stop.
func (m *Mode) Follow(ctx context.Context, conn *watch.LauncherConn) error {
	defer m.files.Refuse() // before the end of calls in flight, which report the reason
	defer m.dirs.unpublish()
	notes := m.dirs.allNotes(conn.TryWarn)
	for _, text := range notes {
		m.s.Log.Warn(text)
	}
	for _, text := range m.s.Config.WritableCode(m.s.Calls.Dirs()) {
		notes = append(notes, "warning: "+text)
	}
	conn.Warn(notes)
	conn.Ready()
	select {
	case line := <-conn.Lines:
		if line != "drain" {
			return watch.ErrGone
		}
	case <-m.ending:
	case <-ctx.Done():
		return watch.ErrGone
	}
	m.dirs.unpublish() // so that new callers fail at once
	m.s.Log.Info("draining", "grace", m.s.Record.Session().Proxy.Grace)
	grace, cancel := context.WithTimeout(ctx, m.s.Record.Session().Proxy.Grace)
	defer cancel()
	// ends when the launcher's end of the connection is closed, or with grace.
	m.s.Go(func() {
		select {
		case <-conn.Lines:
			cancel()
		case <-grace.Done():
		}
	})
	m.files.Drain(grace.Done())
	return watch.ErrGone
}

// requestEnd ends the session after its calls. If it is called again, the session ends at once.
func (m *Mode) requestEnd(why error) {
	select {
	case <-m.ending:
		m.s.Life.Stop(why)
	default:
		m.files.Refuse()
		close(m.ending)
	}
}

// configureCalls prepares the session. Every call runs in the directory where the proxy was started: the directory of a
// caller belongs to an unknown container.
func (m *Mode) configureCalls() error {
	rec := m.s.Record.Session()
	dirs, err := mount.NewTable(watch.WritableByCallers(*rec), mount.Default{Source: rec.InvokedIn, Target: rec.InvokedIn, All: true})
	if err != nil {
		return err
	}
	m.s.Calls.Apply("proxy", dirs)
	m.s.Warnings.Set(m.s.Calls.HostCode([]string{rec.InvokedIn}, "which a container may have been given"))
	return m.s.Record.Save()
}

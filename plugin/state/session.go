// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Where a container meets its session.
const (
	Target = "/run/hostexec"       // the share's mount, in the container
	Label  = "io.hostexec.session" // the container's label with the session's id
)

// Command is one proxied command of a session.
type Command struct {
	Name   string `json:"name"`
	Action string `json:"action"` // allow, ask or deny; anything else denies
	Path   string `json:"path"`   // on the host, absolute

	Found bool `json:"found,omitempty"` // PATH has it; nobody named its path

	Explicit bool `json:"explicit,omitempty"` // the action was typed

	Keep bool `json:"keep,omitempty"` // its jobs may outlive the container

	In []string `json:"in,omitempty"` // of shells with state: the containers in which there may be some

	Where *Place `json:"where,omitempty"` // nil: the configuration says, or else the host
}

// Place is where a command runs, as exec/policy has it. Without an image it is the host.
type Place struct {
	Image   string `json:"image,omitempty"`
	Host    string `json:"docker_host,omitempty"`
	Network string `json:"network,omitempty"`
	Memory  int64  `json:"memory,omitempty"`
	CPUs    int64  `json:"nano_cpus,omitempty"`
	Pids    int64  `json:"pids,omitempty"`
}

// Session is what is recorded of a session: what the user asked for, and the container
// it became. The container's environment and the host's are never part of it.
type Session struct {
	ID            string    `json:"id"` // 12 hex digits
	Version       string    `json:"version"`
	Created       time.Time `json:"created"`
	Container     string    `json:"container,omitempty"` // the engine's 64 hex digits
	ContainerName string    `json:"container_name,omitempty"`
	Image         string    `json:"image,omitempty"`
	Commands      []Command `json:"commands"`
	Ruled         []string  `json:"ruled,omitempty"`    // commands that only rules of the configuration allow, and that can be called by name
	Shell         *Command  `json:"shell,omitempty"`    // what --proxy-shell said of shells with state
	Carrier       string    `json:"carrier"`            // as asked for: auto, socket or relay
	Relay         bool      `json:"relay,omitempty"`    // the container has a place for a relay's socket
	Engine        string    `json:"engine,omitempty"`   // its endpoint, as docker names it
	Apart         bool      `json:"apart,omitempty"`    // the engine does not see this host's directories
	Volume        string    `json:"volume,omitempty"`   // what is mounted then in place of the share
	Attached      bool      `json:"attached,omitempty"` // the container was there before; it has copies in place of a share
	HTTP          *HTTP     `json:"http,omitempty"`     // nil: no calls over HTTP
	WorkdirHost   string    `json:"workdir_host,omitempty"`
	InvokedIn     string    `json:"invoked_in"`          // where run was typed
	Workspace     string    `json:"workspace,omitempty"` // the host directory that the container works in
	Writable      []string  `json:"writable,omitempty"`  // what of this host the container can write
	PassEnv       []string  `json:"pass_env,omitempty"`
	NewPrivs      bool      `json:"new_privs,omitempty"`
	GlobalArgs    []string  `json:"global_args,omitempty"` // docker's own flags, to reach the same engine
	Terminal      Terminal  `json:"terminal,omitzero"`     // on which it was started
	Agent         *Agent    `json:"agent,omitempty"`       // whose session it is; nil: run's
	Proxy         *Proxy    `json:"proxy,omitempty"`       // where its requests come from, without a container
	Service       *Service  `json:"service,omitempty"`     // of compose, whose containers it is for
	Warnings      []string  `json:"warnings,omitempty"`    // what makes it dangerous, in printable ASCII
	Damaged       bool      `json:"damaged,omitempty"`     // no record can be read: this is what the container's labels tell; never stored
}

// HTTP is where a session's calls over HTTP come. The container is told so when it is made,
// and cannot be told otherwise later.
type HTTP struct {
	Device  string `json:"device"`  // the network interface that the container is plugged in at
	Address string `json:"address"` // host and port; empty before there is one
}

// Agent is what is recorded of an agent: never its environment, nor its arguments.
type Agent struct {
	Name   string `json:"name"`
	Mode   string `json:"mode"`             // process or container
	Keep   bool   `json:"keep,omitempty"`   // its container stays when it has ended
	Config string `json:"config,omitempty"` // absolute path of --config's file, which says what runs; empty: none
}

// OnHost reports whether the session is that of a process of this host's, and has no
// container.
func (s *Session) OnHost() bool { return s.Agent != nil && s.Agent.Mode == "process" }

// AgentName returns the name of the session's agent, or "".
func (s *Session) AgentName() string {
	if s.Agent == nil {
		return ""
	}
	return s.Agent.Name
}

// Proxy is the directory of requests of a session that has no container. Base was there;
// what is below it is reached through no link.
type Proxy struct {
	Base  string        `json:"base"`           // absolute
	Rest  string        `json:"rest"`           // below it; one more directory for each command unless Flat
	Flat  bool          `json:"flat,omitempty"` // all commands' requests lie in one directory
	Grace time.Duration `json:"grace"`          // for calls in flight, when it ends

	Real string `json:"real,omitempty"` // what Base is without links, once it is held
	Key  string `json:"key,omitempty"`  // tells that directory from any other that has its name later

	AnyUser bool `json:"any_user,omitempty"` // processes of all user ids may call, not the owner's and root's alone
}

// Dir returns the directory for the requests of command, and what is the same below Base.
func (p *Proxy) Dir(command string) (path, rest string) {
	rest = p.Rest
	if !p.Flat {
		rest = filepath.Join(rest, command)
	}
	return filepath.Join(p.Base, rest), rest
}

// Terminal is the terminal on which a session was started. Its zero value is none.
type Terminal struct {
	Path   string `json:"path,omitempty"`
	Leader int    `json:"leader"` // of its session: the login shell, mostly
	Born   uint64 `json:"born"`   // when the leader was, proc_pid_stat(5), so that its pid means no other
}

// Names returns the names of the session's commands, in the order given.
func (s *Session) Names() []string {
	names := make([]string, len(s.Commands))
	for i, c := range s.Commands {
		names[i] = c.Name
	}
	return names
}

// Linked returns all commands that the container can call by name.
func (s *Session) Linked() []string { return append(s.Names(), s.Ruled...) }

// NewID returns an id that no other session has.
func NewID() string {
	var id [6]byte
	rand.Read(id[:]) // never fails (crypto/rand)
	return hex.EncodeToString(id[:])
}

// Create makes the folder of session rec.ID and writes rec down. The folder's share/ is
// readable by any container user; the folder itself is not.
func (s *Store) Create(rec *Session) (err error) {
	dir := s.Dir(rec.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make session directory: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	for _, d := range []string{ShareDir(dir), filepath.Join(ShareDir(dir), "bin"), filepath.Join(ShareDir(dir), "relay")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return fmt.Errorf("make session directory: %w", err)
		}
		// The container's user is not ours: the umask must not shut it out.
		if err := Chmod(d, 0o755); err != nil {
			return fmt.Errorf("make session directory: %w", err)
		}
	}
	return s.Save(rec)
}

// Chmod changes the mode of path. A link that has come into its place is not followed out of
// the directory that it is in.
func Chmod(path string, mode fs.FileMode) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Chmod(filepath.Base(path), mode)
}

// List returns all sessions, oldest first. Folders without a readable record are
// skipped: they are being made or removed. For a session that is served List returns the id: its
// watcher writes the record anew when it is asked.
func (s *Store) List() ([]Session, error) {
	ids, err := s.IDs()
	var all []Session
	for _, id := range ids {
		if rec, err := s.Load(id); err == nil {
			all = append(all, rec)
		} else if created, ok := s.served(id); ok {
			all = append(all, Session{ID: id, Created: created})
		}
	}
	slices.SortStableFunc(all, func(a, b Session) int { return a.Created.Compare(b.Created) })
	return all, err
}

// IDs returns the ids of all sessions that have a folder, with a readable record or without.
func (s *Store) IDs() (ids []string, err error) {
	entries, err := os.ReadDir(s.sessions())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for _, e := range entries {
		if idForm.Matches(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// served reports whether session id has a watcher that has not begun to end, and about since when it
// has a folder.
func (s *Store) served(id string) (since time.Time, ok bool) {
	fi, err := os.Lstat(ControlSock(s.Dir(id)))
	if err != nil || free(s.Dir(id)) {
		return time.Time{}, false
	}
	return fi.ModTime(), true
}

// HalfMade returns the folders of sessions without a record that are older than age: what is
// left of a session that was being made or removed.
func (s *Store) HalfMade(age time.Duration) (folders []string) {
	entries, _ := os.ReadDir(s.sessions()) // there is none: nothing is left
	for _, e := range entries {
		if _, err := s.Load(e.Name()); err == nil {
			continue
		}
		if _, ok := s.served(e.Name()); ok {
			continue
		}
		if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > age {
			folders = append(folders, s.Dir(e.Name()))
		}
	}
	return folders
}

// Recordless returns those of HalfMade that have no record at all, by their ids, and that
// nobody holds. One that cannot be read is somebody's to look at.
func (s *Store) Recordless(age time.Duration) (ids []string) {
	for _, folder := range s.HalfMade(age) {
		id := filepath.Base(folder)
		if _, err := s.Load(id); idForm.Matches(id) && errors.Is(err, fs.ErrNotExist) && free(folder) {
			ids = append(ids, id)
		}
	}
	return ids
}

// free reports whether nobody has the locks of a session's folder: its watcher, or who is about
// to serve containers by it.
func free(folder string) bool {
	for _, path := range []string{LockFile(folder), LeaseFile(folder)} {
		l := ExistingLock(path)
		ok, err := l.TryLock()
		l.Close()
		if !ok && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// Stopped reports whether a person has ended session id, which is then resumed by nobody else.
func (s *Store) Stopped(id string) bool {
	_, err := os.Lstat(s.stopped(id))
	return err == nil
}

// NoteStopped notes that a person has ended session id, or, if not stopped, has resumed it.
func (s *Store) NoteStopped(id string, stopped bool) error {
	var err error
	if stopped {
		err = os.WriteFile(s.stopped(id), nil, 0o600)
	} else if err = os.Remove(s.stopped(id)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("note that session %s was stopped: %w", id, err)
	}
	return nil
}

func (s *Store) stopped(id string) string { return filepath.Join(s.Dir(id), "stopped") }

// Discard is Remove for a session that never had a container, and nothing for others.
func (s *Store) Discard(id string) error {
	if rec, err := s.Load(id); err == nil && rec.Container != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.Remove(id)
}

// Remove deletes session id's folder. Removing one that is gone is no error.
func (s *Store) Remove(id string) error {
	if !idForm.Matches(id) {
		return fmt.Errorf("remove session %q: not a session id", id)
	}
	// The record goes first: a folder half removed is no session any more.
	for _, name := range []string{spareRecord, record} {
		if err := os.RemoveAll(filepath.Join(s.Dir(id), name)); err != nil {
			return fmt.Errorf("remove session %s: %w", id, err)
		}
	}
	if err := os.RemoveAll(s.Dir(id)); err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	return nil
}

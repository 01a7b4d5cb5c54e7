// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// Names that a container and its session share.
const (
	Target = "/run/hostexec"       // mount point of the share in the container
	Label  = "io.hostexec.session" // label of the container with the session's id
)

// Command is one proxied command of a session.
type Command struct {
	Name   string `json:"name"`
	Action string `json:"action"` // allow, ask or deny; any other value denies
	Path   string `json:"path"`   // of the program, absolute; empty if it is denied or looked up in an image

	Found bool `json:"found,omitempty"` // the path was found in PATH, not given by the user

	Shim string `json:"shim,omitempty"` // the name by which the container calls it; empty: Name

	Explicit bool `json:"explicit,omitempty"` // the user gave the action

	Keep bool `json:"keep,omitempty"` // jobs may outlive the container

	In []string `json:"in,omitempty"` // for shells with state: the containers where they may run

	Where *Place `json:"where,omitempty"` // its place; nil: the configuration decides; the default is the host
}

// Place is the place where a command runs, like policy.Place. The zero value is the host.
type Place struct {
	Sandboxed  bool   `json:"sandbox,omitempty"`
	Image      string `json:"image,omitempty"`
	DockerHost string `json:"docker_host,omitempty"` // address of the engine, as in DOCKER_HOST; empty: Session.Engine
	Network    string `json:"network,omitempty"`
	Memory     int64  `json:"memory,omitempty"`
	CPUs       int64  `json:"nano_cpus,omitempty"`
	Pids       int64  `json:"pids,omitempty"`
}

// Session is the record of a session: the user's options and the container. It may have names of environment variables,
// but never their values. It has a field for each value in the JSON file.
type Session struct {
	ID            string        `json:"id"` // 12 hex digits
	Version       string        `json:"version"`
	Created       time.Time     `json:"created"`
	Container     string        `json:"container,omitempty"` // 64 hex digits
	ContainerName string        `json:"container_name,omitempty"`
	Image         string        `json:"image,omitempty"`
	Commands      []Command     `json:"commands"`
	RuleCommands  []string      `json:"ruled,omitempty"`    // commands that are callable by name and allowed only by rules
	Shell         *Command      `json:"shell,omitempty"`    // value of --proxy-shell
	Carrier       string        `json:"carrier"`            // as requested: auto, socket, relay or files
	Relay         bool          `json:"relay,omitempty"`    // the container has a directory for a relay's socket
	Engine        string        `json:"engine,omitempty"`   // endpoint, in docker's form
	RemoteFiles   bool          `json:"apart,omitempty"`    // the engine does not see this host's directories
	Volume        string        `json:"volume,omitempty"`   // mounted in place of the share if RemoteFiles is set
	Attached      bool          `json:"attached,omitempty"` // the container existed before; it has copies of the share
	HTTP          *HTTP         `json:"http,omitempty"`     // nil: no calls over HTTP
	WorkdirHost   string        `json:"workdir_host,omitempty"`
	InvokedIn     string        `json:"invoked_in"`               // the directory where run was started
	Workspace     string        `json:"workspace,omitempty"`      // the host directory that the container works in
	Writable      []string      `json:"writable,omitempty"`       // host paths that the container can write
	SandboxWrites []string      `json:"sandbox_writes,omitempty"` // host paths that the configuration lets commands in sandboxes write
	PassEnv       []string      `json:"pass_env,omitempty"`
	NewPrivs      bool          `json:"new_privs,omitempty"`
	GlobalArgs    []string      `json:"global_args,omitempty"` // docker's global flags, for access to the same engine
	Terminal      Terminal      `json:"terminal,omitzero"`     // where the session was started
	Agent         *Agent        `json:"agent,omitempty"`       // the session's agent; nil: none
	StartedLater  bool          `json:"later,omitempty"`       // a client of the API proxy created the container, and may start it much later
	Proxy         *Proxy        `json:"proxy,omitempty"`       // source of the requests of a session without a container
	DevContainer  *DevContainer `json:"service,omitempty"`     // the dev container that the session is for; nil: none
	Warnings      []string      `json:"warnings,omitempty"`    // risks of the session, in printable ASCII
	Killed        string        `json:"killed,omitempty"`      // why hostexec has killed the container, in printable ASCII
	Damaged       bool          `json:"damaged,omitempty"`     // no record can be read, so this comes from the container's labels; never stored
}

// HTTP is the address for a session's calls over HTTP. The container gets it at its creation, so it cannot
// change later.
type HTTP struct {
	Device  string `json:"device"`  // the network interface that the container is connected to
	Address string `json:"address"` // host and port; empty until it is known
}

// Agent is the record of an agent. It contains neither environment nor arguments.
type Agent struct {
	Name   string `json:"name"`
	Mode   string `json:"mode"`             // process or container
	Keep   bool   `json:"keep,omitempty"`   // the container is kept after its end
	Config string `json:"config,omitempty"` // absolute path of the --config file; empty: none
}

// OnHost reports whether the session is for a process on this host, without a container.
func (s *Session) OnHost() bool { return s.Agent != nil && s.Agent.Mode == "process" }

// AgentName returns the name of the session's agent, or "".
func (s *Session) AgentName() string {
	if s.Agent == nil {
		return ""
	}
	return s.Agent.Name
}

// Proxy is the directory of requests of a session without a container. Base existed before the session. No link below
// Base is followed.
type Proxy struct {
	Base         string        `json:"base"`           // absolute
	RelativePath string        `json:"rest"`           // relative to Base; each command has a directory in it unless Flat
	Flat         bool          `json:"flat,omitempty"` // the requests of all commands are in one directory
	Grace        time.Duration `json:"grace"`          // time for running calls when the session ends

	Real string `json:"real,omitempty"` // Base without links; set once it is open
	Key  string `json:"key,omitempty"`  // identifies the directory, even if another one gets its name later

	AnyUser bool `json:"any_user,omitempty"` // processes of all users may call, not only of the owner and root
}

// Dir returns the directory for the requests of command, as a path and relative to Base.
func (p *Proxy) Dir(command string) (path, rest string) {
	rest = p.RelativePath
	if !p.Flat {
		rest = filepath.Join(rest, command)
	}
	return filepath.Join(p.Base, rest), rest
}

// Terminal is the terminal where a session was started. The zero value means none.
type Terminal struct {
	Path        string `json:"path,omitempty"`
	Leader      int    `json:"leader"` // pid of the session leader, usually the login shell
	LeaderStart uint64 `json:"born"`   // start time of the leader, proc_pid_stat(5), to detect a reused pid
}

// FindCommand returns the command called name, or nil.
func FindCommand(all []Command, name string) *Command {
	if i := slices.IndexFunc(all, func(c Command) bool { return c.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names returns the names of the session's commands, in order.
func (s *Session) Names() []string {
	names := make([]string, len(s.Commands))
	for i, c := range s.Commands {
		names[i] = c.Name
	}
	return names
}

// Proxied returns the commands of --proxy and --proxy-shell.
func (s *Session) Proxied() []Command {
	if s.Shell == nil {
		return s.Commands
	}
	return append(slices.Clone(s.Commands), *s.Shell)
}

// Shims returns the names by which the container calls the session's commands, in their order.
func (s *Session) Shims() []string {
	names := s.Names()
	for i, c := range s.Commands {
		names[i] = cmp.Or(c.Shim, c.Name)
	}
	return names
}

// Linked returns the names of all commands that the container can call by name.
func (s *Session) Linked() []string { return append(s.Shims(), s.RuleCommands...) }

// NewID returns a random session id.
func NewID() string { return names.RandomHex(6) }

// Create makes the directory of session rec.ID and saves rec. The directory is private; every user in the
// container can read its share/.
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
		// The container's user may differ from ours: the umask must not exclude it.
		if err := chmod(d, 0o755); err != nil {
			return fmt.Errorf("make session directory: %w", err)
		}
	}
	return s.Save(rec)
}

// chmod changes the mode of path. If path has been replaced by a link, the change does not leave the
// directory.
func chmod(path string, mode fs.FileMode) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Chmod(filepath.Base(path), mode)
}

// List returns all sessions, oldest first. It skips directories without a readable record and without a watcher: they
// are being created or removed, or the record is damaged. For a session with a watcher but without a readable record,
// it returns only the id and the time since which the watcher serves. The watcher writes the record again on request.
func (s *Store) List() ([]Session, error) {
	ids, err := s.IDs()
	var all []Session
	for _, id := range ids {
		if rec, err := s.Load(id); err == nil {
			all = append(all, rec)
		} else if created, ok := s.Served(id); ok {
			all = append(all, Session{ID: id, Created: created})
		}
	}
	slices.SortStableFunc(all, func(a, b Session) int { return a.Created.Compare(b.Created) })
	return all, err
}

// IDs returns the ids of all sessions with a directory, even without a readable record.
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

// Served reports whether session id has a control socket, and a process holds one of its locks. That is its watcher or,
// while a watcher ends, possibly a process that is about to create a container. since is when the watcher began to
// serve.
func (s *Store) Served(id string) (since time.Time, ok bool) {
	fi, err := os.Lstat(ControlSock(s.Dir(id)))
	if err != nil || unlocked(s.Dir(id)) {
		return time.Time{}, false
	}
	return fi.ModTime(), true
}

// IncompleteDirs returns the session directories without a readable record and without a watcher that are older than
// age. Either their creation or removal was interrupted, or the record is damaged.
func (s *Store) IncompleteDirs(age time.Duration) (dirs []string) {
	entries, _ := os.ReadDir(s.sessions()) // if the directory is missing, there are none
	for _, e := range entries {
		if _, err := s.Load(e.Name()); err == nil {
			continue
		}
		if _, ok := s.Served(e.Name()); ok {
			continue
		}
		if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > age {
			dirs = append(dirs, s.Dir(e.Name()))
		}
	}
	return dirs
}

// Recordless returns the ids of those IncompleteDirs directories that have no record file at all and that no process
// has locked. A directory with an unreadable record is left for the user to inspect.
func (s *Store) Recordless(age time.Duration) (ids []string) {
	for _, dir := range s.IncompleteDirs(age) {
		id := filepath.Base(dir)
		if _, err := s.Load(id); idForm.Matches(id) && errors.Is(err, fs.ErrNotExist) && unlocked(dir) {
			ids = append(ids, id)
		}
	}
	return ids
}

// unlocked reports whether the locks of a session's directory are free. Holders are its watcher, and processes
// that are about to create containers for it.
func unlocked(dir string) bool { return LockFree(LockFile(dir)) && LockFree(LeaseFile(dir)) }

// Stopped reports whether a user has ended session id. Then only a user may resume it.
func (s *Store) Stopped(id string) bool {
	_, err := os.Lstat(s.stopped(id))
	return err == nil
}

// NoteStopped records that a user has ended session id or, if stopped is false, has resumed it.
func (s *Store) NoteStopped(id string, stopped bool) error {
	var err error
	if stopped {
		err = dir.Replace(s.stopped(id), nil, 0o600)
	} else if err = os.Remove(s.stopped(id)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("note that session %s was stopped: %w", id, err)
	}
	return nil
}

func (s *Store) stopped(id string) string { return filepath.Join(s.Dir(id), "stopped") }

// Discard removes a session that never had a container. It does nothing for others.
func (s *Store) Discard(id string) error {
	if rec, err := s.Load(id); err == nil && rec.Container != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.Remove(id)
}

// Remove deletes session id's directory. It returns nil if the directory does not exist.
func (s *Store) Remove(id string) error {
	if !idForm.Matches(id) {
		return fmt.Errorf("remove session %s: not a session id", names.Quoted(id))
	}
	// Removes the records first, so that a partly removed directory is not a session any more.
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

// SPDX-License-Identifier: Apache-2.0

// Package state is where hostexec keeps things on disk: one private directory with a
// folder per session.
//
//	$DOCKER_CONFIG/hostexec          0700
//	    audit.log                    0600, every decision and every run
//	    audit/                       0700, the same of a container alone, if so configured
//	    recordings/                  0700, what commands wrote, by their requests
//	    config.yaml                  what may be requested; plugin/config reads it
//	    projects/<name>.yaml         the same for one project
//	    trust/<digest>               workspaces' proposals that count
//	    workspaces/<id>/             an agent's own directory, which stays: plugin/agent
//	    images/                      what was found in images, by their digests
//	    room-hosts                   where commands' containers were made, but for the sessions' own engines
//	    proxies/<directory>/         a lock for each command that is called by files in it
//	    services/<project>/<name>    a link to the share of a session that compose has begun: Store.ServiceShare
//	    services.lock                held while sessions of services are made
//	    shims/                       decompressed shims, hard-linked into sessions, and copied into shares
//	    attach.lock                  held while a container is being attached
//	    page.json, page.lock         0600, where the page is served, its token, and by whom
//	    sessions/<id>/               0700
//	        session.json             what was asked for; the environment is never stored
//	        session.spare.json       the same, for when session.json is damaged
//	        session.damaged          what was in the place of session.json when it was damaged
//	        lock                     held by the session's watcher
//	        stopped                  a person has ended the session: nobody but a person resumes it
//	        control.sock             0600 from birth
//	        lease                    of a service's session: LeaseFile
//	        compose.yaml             what it adds to the project's compose files
//	        exec.sock, exec.secret   0600: what tools of this host call by, and what they show
//	        token                    0600, the session's, which calls over HTTP show, too
//	        jobs/                    0700, commands that go on without their callers: exec/job
//	        watch.log, watch.log.old what the watcher has to tell: Log
//	        grants.json              0600, approvals that hold on
//	        rooms/                   0700, a folder for each container of a command's while it is there
//	        share/                   the only part that a container sees, read-only
//	        proxy/                   for requests as files, a directory for each command; it may write there
//
// Its one law: nothing but share/, proxy/ and a session's own workspace is ever below a mount. It knows neither Docker nor
// what a session does.
package state

import (
	"fmt"
	"os"
	"path/filepath"
)

// NotPrivateError is that others have a say in what lies in the state directory.
type NotPrivateError struct{ Why, Fix string }

func (e *NotPrivateError) Error() string { return e.Why + ": " + e.Fix }

// Store is the state directory.
type Store struct {
	Home string // absolute
}

// Home returns the state directory: HOSTEXEC_HOME, else hostexec below DOCKER_CONFIG,
// else below ~/.docker.
func Home() (string, error) {
	if dir := os.Getenv("HOSTEXEC_HOME"); dir != "" {
		if !filepath.IsAbs(dir) { // it would be another directory in each current directory
			return "", fmt.Errorf("HOSTEXEC_HOME is not an absolute path: %q", dir)
		}
		return absolute(dir)
	}
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return absolute(filepath.Join(dir, "hostexec"))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w (set HOSTEXEC_HOME)", err)
	}
	return absolute(filepath.Join(home, ".docker", "hostexec"))
}

// absolute resolves symbolic links as far as the path exists: the engine resolves them
// too, and what a mount covers can only be judged on resolved paths.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	rest := ""
	for p := dir; ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest), nil
		}
		if p == filepath.Dir(p) {
			return dir, nil
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// Open makes the state directory if need be and checks that it is private and ours.
func Open() (*Store, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	return OpenAt(home)
}

// OpenAt is Open for the state directory home, which is absolute.
func OpenAt(home string) (*Store, error) {
	s := &Store{Home: home}
	for _, dir := range []string{home, s.sessions()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make state directory: %w (set HOSTEXEC_HOME to a directory you can write)", err)
		}
	}
	if err := private(home); err != nil {
		return nil, err
	}
	return s, nil
}

// Look is Open for who only looks, as while somebody types: it makes and changes nothing, and
// what is not there is an error.
func Look() (*Store, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	return &Store{Home: home}, CheckPrivate(home)
}

// Audit returns the path of the audit log.
func (s *Store) Audit() string { return filepath.Join(s.Home, "audit.log") }

// PageLog returns the path of the log of the page in the browser.
func (s *Store) PageLog() string { return filepath.Join(s.Home, "page.log") }

// Recordings returns the path of the directory of recordings.
func (s *Store) Recordings() string { return filepath.Join(s.Home, "recordings") }

// Dir returns the folder of session id.
func (s *Store) Dir(id string) string { return filepath.Join(s.sessions(), id) }

// Of returns the store that a session's folder is in, and the session's id.
func Of(session string) (*Store, string) {
	return &Store{Home: filepath.Dir(filepath.Dir(session))}, filepath.Base(session)
}

// Workspaces returns the path of the directory of agents' own directories.
func (s *Store) Workspaces() string { return filepath.Join(s.Home, "workspaces") }

func (s *Store) sessions() string { return filepath.Join(s.Home, "sessions") }

// ShareDir and the functions below it name the parts of a session's folder.
func ShareDir(session string) string      { return filepath.Join(session, "share") }
func ProxyDir(session string) string      { return filepath.Join(session, "proxy") }
func RequestsMount(session string) string { return filepath.Join(ShareDir(session), "proxy") }
func RoomsDir(session string) string      { return filepath.Join(session, "rooms") }
func ShimFile(session string) string      { return filepath.Join(session, "shim") }
func LogFile(session string) string       { return filepath.Join(session, "watch.log") }
func GrantsFile(session string) string    { return filepath.Join(session, "grants.json") }
func LockFile(session string) string      { return filepath.Join(session, "lock") }
func ControlSock(session string) string   { return filepath.Join(session, "control.sock") }
func ExecSock(session string) string      { return filepath.Join(session, "exec.sock") }
func ExecSecret(session string) string    { return filepath.Join(session, "exec.secret") }
func TokenFile(session string) string     { return filepath.Join(session, "token") }
func JobsDir(session string) string       { return filepath.Join(session, "jobs") }

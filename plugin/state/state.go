// SPDX-License-Identifier: Apache-2.0

// Package state manages hostexec's files: one private directory with a directory for each session.
//
//	the state directory (Home)       0700
//	    audit.log                    0600, every decision and every run
//	    audit/                       0700, one log per container, if configured
//	    recordings/                  0700, output of commands, by request
//	    config.yaml                  the configuration: plugin/config
//	    projects/<name>.yaml         the configuration of one project
//	    *.yaml.lock                  beside both: held while docker hostexec changes the file
//	    trust/<digest>               the workspaces' proposals that are trusted
//	    sandbox/<digest>/            home and tmp of sandboxed commands, for each workspace and list of writable paths;
//	                                 home.lock is held while home is changed
//	    workspaces/<id>/             an agent's own directory, which is kept: plugin/agent
//	    images/                      which paths exist in images, by digest: plugin/inject
//	    call-engines                 engines, other than the sessions' own, that ran call containers
//	    proxies/<directory>/         a lock for each command that is called by files in the directory
//	    api/<id>/                    0700, of a running API proxy: lock, docker context, socket or its path
//	    services/<project>/<name>    a link to the share of a dev container's session: Store.DevContainerShare
//	    services.lock                held while the session of a dev container starts
//	    shims/                       decompressed shims, linked or copied into sessions and shares, and hostexec-shell programs
//	    attach.lock                  held while a container is being attached
//	    page.json, page.lock         0600, address and token of the page, and the lock of its process
//	    page.log, page.log.old       the page's log: Log
//	    git/                         the mirrors of git remotes, and the remotes that a person has added: GitMirrorsDir
//	    engines.json                 facts about engines: EngineFacts
//	    sessions/<id>/               0700
//	        session.json             the record of the session; it contains no values of variables
//	        session.spare.json       a copy, in case session.json is damaged
//	        session.damaged          the damaged file that was session.json
//	        lock                     held by the session's watcher
//	        stopped                  a user has ended the session: only a user or a dev container's tool may resume it
//	        control.sock             created with mode 0600
//	        lease                    for a dev container's session: LeaseFile
//	        exec.sock, exec.secret   0600: for calls by programs of this host, with their secret
//	        token                    0600, the session's secret for calls over HTTP
//	        jobs/                    0700, commands that continue without their callers: exec/job
//	        watch.log, watch.log.old the watcher's log: Log
//	        grants.json              0600, the grants in effect
//	        denials.json             0600, the denials that hold for this session
//	        shim                     the shim: for the container, and for call containers
//	        shells/                  files of the session's shells: exec/shell
//	        shellstmp/               the tmp of shells in a sandbox, with their scripts; no other sandbox has it
//	        scratch/                 copies of files for running calls; only their call containers get them, read-only
//	        callcontainers/          0700, a directory for each running call container
//	        share/                   mounted into the container, read-only
//	        proxy/                   requests as files, a directory for each command; writable for the container
//
// Of these, the container of a session gets only share/, proxy/ and its own workspace. A call container gets its
// directories of callcontainers/ and scratch/, read-only. This package sends no requests to an engine, and runs no
// session.
package state

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// NotPrivateError means that other users can change the state directory.
type NotPrivateError struct{ Why, Fix string }

func (e *NotPrivateError) Error() string { return e.Why + ": " + e.Fix }

// Store is the state directory. It has more methods than other types: one or two for each file that it can hold.
type Store struct {
	Home string // absolute
}

// Home returns the state directory: HOSTEXEC_HOME, else hostexec below DOCKER_CONFIG, else below
// ~/.docker.
func Home() (string, error) {
	if dir := os.Getenv("HOSTEXEC_HOME"); dir != "" {
		if !filepath.IsAbs(dir) { // a relative path would depend on the current directory
			return "", fmt.Errorf("HOSTEXEC_HOME is not an absolute path: %s", names.Quoted(dir))
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

// absolute resolves symbolic links as far as the path exists. The engine resolves them too, and
// comparisons with mounts need resolved paths.
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

// Open creates the state directory if needed and checks that it is private and ours.
func Open() (*Store, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	return OpenAt(home)
}

// OpenAt is like Open for the state directory home, which must be absolute.
func OpenAt(home string) (*Store, error) {
	s := &Store{Home: home}
	for _, dir := range []string{home, s.sessions()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make state directory: %w (set HOSTEXEC_HOME to a directory you can write)", err)
		}
	}
	if err := makePrivate(home); err != nil {
		return nil, err
	}
	return s, nil
}

// OpenReadOnly is like Open, but creates and changes nothing, for example for shell completion. A missing
// directory is an error.
func OpenReadOnly() (*Store, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	return &Store{Home: home}, CheckPrivate(home)
}

// Audit and the methods below it return the paths in the state directory.
func (s *Store) Audit() string      { return filepath.Join(s.Home, "audit.log") }
func (s *Store) PageLog() string    { return filepath.Join(s.Home, "page.log") }
func (s *Store) Recordings() string { return filepath.Join(s.Home, "recordings") }
func (s *Store) Workspaces() string { return filepath.Join(s.Home, "workspaces") }
func (s *Store) APIProxies() string { return filepath.Join(s.Home, "api") }

// Dir returns the directory of session id.
func (s *Store) Dir(id string) string { return filepath.Join(s.sessions(), id) }

// StoreOf returns the store that a session's directory is in, and the session's id.
func StoreOf(session string) (*Store, string) {
	return &Store{Home: filepath.Dir(filepath.Dir(session))}, filepath.Base(session)
}

func (s *Store) sessions() string { return filepath.Join(s.Home, "sessions") }

// MaxSocketPath is the maximum length of a unix socket's path; sun_path holds one byte more (unix(7)).
const MaxSocketPath = 107

// ShareDir and the functions below it return the paths in a session's directory.
func ShareDir(session string) string           { return filepath.Join(session, "share") }
func RequestsDir(session string) string        { return filepath.Join(session, "proxy") }
func RequestsMountPoint(session string) string { return filepath.Join(ShareDir(session), "proxy") }
func CallContainersDir(session string) string  { return filepath.Join(session, "callcontainers") }
func ShellsTmp(session string) string          { return filepath.Join(session, "shellstmp") }
func ShimFile(session string) string           { return filepath.Join(session, "shim") }
func LogFile(session string) string            { return filepath.Join(session, "watch.log") }
func GrantsFile(session string) string         { return filepath.Join(session, "grants.json") }
func DenialsFile(session string) string        { return filepath.Join(session, "denials.json") }
func LockFile(session string) string           { return filepath.Join(session, "lock") }
func ControlSock(session string) string        { return filepath.Join(session, "control.sock") }
func ExecSock(session string) string           { return filepath.Join(session, "exec.sock") }
func ExecSecret(session string) string         { return filepath.Join(session, "exec.secret") }
func HTTPTokenFile(session string) string      { return filepath.Join(session, "token") }
func JobsDir(session string) string            { return filepath.Join(session, "jobs") }

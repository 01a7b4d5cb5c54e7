// SPDX-License-Identifier: Apache-2.0

// Package audit records requests, decisions and commands in a log, and reads the log.
//
//	Record --Log.Write--> one line of audit.log --Reader--> Parse --> Entry
//	                                              \-------> Verify
//
// Each record is one line of printable ASCII, appended by one write. The line encodes the bytes of the command. If a
// command is cut or redacted, or a reason is cut, the line has the SHA-256 of the whole text. The line contains the
// hash of the session's previous record. START is written before the command runs; if the write fails, the command does
// not run. If START is in the log, but its copy or its sync fails, a COMPLETE record follows at once. The package makes
// no decisions and displays nothing.
package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Kind is the event that a record describes.
type Kind string

const (
	Request     Kind = "REQUEST"      // a person is about to be asked
	AutoApprove Kind = "AUTO_APPROVE" // the policy allowed the command without asking
	Approve     Kind = "APPROVE"      // a person or a grant allowed the command
	Deny        Kind = "DENY"         // a person, the policy or a limit denied the command, or nobody could be asked
	Timeout     Kind = "TIMEOUT"      // nobody answered before the deadline
	Cancel      Kind = "CANCEL"       // the caller left before an answer
	Start       Kind = "START"        // a command is about to run
	Complete    Kind = "COMPLETE"     // the command has ended
	Refusals    Kind = "REFUSALS"     // the number of denials without a record each, because there were too many
)

// SessionInfo identifies the session that a record is about. The host sets all fields. Unknown fields are empty.
type SessionInfo struct {
	Project   string // base name of the directory in which the session was started
	Branch    string // the git branch of that directory when the watcher was started; the container may have named it
	Session   string
	Container string // name of the container
	Agent     string
}

// Record is one event of one request. Where the log has a field only for some kinds of records, its comment names them.
// Approved is never written to the log.
type Record struct {
	Kind     Kind
	Request  string
	Args     []string      // of the command
	Dir      string        // REQUEST, START: the working directory on the host; of a shell in a container: CONTAINER:DIR
	Path     string        // REQUEST, START: the program
	Rule     string        // all kinds but COMPLETE and REFUSALS: the rule that decided
	Pattern  string        // AUTO_APPROVE: the pattern of the list auto_approve that decided; if empty, the log has Rule here, too
	Reason   string        // DENY, REFUSALS: the reason
	By       string        // APPROVE, DENY: the user who decided, or the grant or denial of a person; empty: the policy decided
	Grant    string        // APPROVE: the grant that the person made, and how long it holds; empty: it held once
	Inputs   string        // APPROVE: the digest of the files, if it holds only while they are unchanged
	More     bool          // APPROVE: the question was about more than the arguments
	Preview  string        // REQUEST: the arguments that are added for a preview, quoted for a shell; empty: none runs
	Approved bool          // START: a person has allowed it; not written to the log, see SyncApproved
	Exit     int           // COMPLETE
	Signal   string        // COMPLETE: the signal that killed the command, if any
	Duration time.Duration // COMPLETE
	Count    int           // REFUSALS: how many; Request and Args belong to the last one
	Since    time.Time     // REFUSALS: the time of the first one
}

// SyncMode selects the records for which Write waits until they are on disk. Without sync, a record
// survives the end of this process, but not a power failure.
type SyncMode int

const (
	SyncNever    SyncMode = iota
	SyncApproved          // APPROVE, and the START of a command that a person approved
	SyncAlways
)

// Options configure a log. The zero value writes one file without a size limit.
type Options struct {
	Sync         SyncMode
	Redact       []*regexp.Regexp // matches in the command line are replaced before writing
	PerContainer bool             // also writes each container's records to audit/NAME.log
	Rotate       int64            // maximum file size in bytes before rotation; 0: no rotation
	Keep         int              // number of rotated files to keep; 0: all
	NoRecords    bool             // the session has no records yet, so Open does not search for them
}

const (
	// DefaultRotate and DefaultKeep are the limits of a log without configuration: 576 MiB in
	// total.
	DefaultRotate = 64 << 20
	DefaultKeep   = 8
)

// Log is an open audit log for one container of a session. Any number of processes may append to
// one file. Only one process at a time may write the records of a session.
type Log struct {
	session SessionInfo
	shared  *sessionLog
}

// sessionLog is the state that the Logs of one session share.
type sessionLog struct {
	opts Options
	main *file
	dir  string // of the per-container copies
	now  func() time.Time

	mu     sync.Mutex       // guards the fields below; held while a record is written
	chain  chainPosition    // the last record written
	copies map[string]*file // by name of the container
	missed []missed
	retry  *time.Timer // set while there are missed records
	closed bool
}

// Open opens the log at path for a session. It creates the file with mode 0600 if necessary. It
// fails if other users can write the file, or if path is a symbolic link.
func Open(path string, info SessionInfo, opts Options) (*Log, error) {
	b := &sessionLog{opts: opts, main: newFile(path, opts), dir: filepath.Join(filepath.Dir(path), "audit"), now: time.Now, copies: map[string]*file{}}
	err := b.main.open()
	if err == nil && !opts.NoRecords {
		b.chain, err = last(path, info.Session)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open audit log: %w", err), b.main.close())
	}
	return &Log{session: info, shared: b}, nil
}

// Named returns the same log for the session's container with its name. The name is known only
// after the container has been created.
func (l *Log) Named(container string) *Log {
	named := *l
	named.session.Container = container
	return &named
}

// Write appends r. It returns after the kernel has accepted the whole line. If the sync mode
// requires it, Write returns after the line is on disk. After an error of a START, the command must
// not run.
func (l *Log) Write(r Record) error {
	if err := l.shared.write(l.session, r); err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

var (
	errClosed = errors.New("it is closed")
	errLong   = errors.New("the record is too long")
)

func (b *sessionLog) write(info SessionInfo, r Record) error {
	text := body(info, r, b.opts.Redact) // before the lock, because a long record takes time
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed
	}
	b.writeMissed()
	line, err := b.appendLocked(info, text)
	if err != nil {
		if r.Kind == Complete && !errors.Is(err, errLong) {
			b.addMissed(missed{info, text})
		}
		return err
	}
	err = b.copyAndSync(info, line, r.Kind == Approve || r.Approved)
	if err != nil && r.Kind == Start {
		b.noteNotRun(info, r)
	}
	return err
}

// exitNotRun is the exit code of the COMPLETE record of a command that did not run, because Write failed.
const exitNotRun = 125

// noteNotRun appends the COMPLETE record of a command whose START is in the log, although Write fails. Without it, the
// log would say that the command still runs. The caller holds mu.
func (b *sessionLog) noteNotRun(info SessionInfo, start Record) {
	r := Record{Kind: Complete, Request: start.Request, Args: start.Args, Exit: exitNotRun}
	b.addMissed(missed{info, body(info, r, b.opts.Redact)})
	b.writeMissed()
}

// appendLocked appends a record with the text body to the log, and returns the line.
func (b *sessionLog) appendLocked(info SessionInfo, body string) (line []byte, err error) {
	line, next := b.chain.seal(b.now(), info.Session, body)
	if len(line) > maxLine {
		return nil, errLong
	}
	if err := b.main.append(line); err != nil {
		return nil, err
	}
	b.chain = next
	return line, nil
}

// copyAndSync writes the per-container copy of a line and syncs the log, as the options require.
func (b *sessionLog) copyAndSync(info SessionInfo, line []byte, approved bool) error {
	if b.opts.PerContainer {
		if err := b.copyOf(info).append(line); err != nil {
			return err
		}
	}
	if b.opts.Sync == SyncAlways || b.opts.Sync == SyncApproved && approved {
		return b.main.f.Sync()
	}
	return nil
}

// copyOf returns the file for the records of one container. If the container has no name yet, or a
// name that is not valid as a file name, the file is named after the session.
func (b *sessionLog) copyOf(info SessionInfo) *file {
	name := info.Container
	if !names.Container.Matches(name) {
		name = "session-" + info.Session
	}
	f, ok := b.copies[name]
	if !ok {
		f = newFile(filepath.Join(b.dir, name+".log"), b.opts)
		b.copies[name] = f
	}
	return f
}

// Close closes the log and all Logs that Named returned for it.
func (l *Log) Close() error {
	b := l.shared
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writeMissed()
	b.closed = true
	if b.retry != nil {
		b.retry.Stop()
	}
	err := b.main.close()
	for _, f := range b.copies {
		err = errors.Join(err, f.close())
	}
	return err
}

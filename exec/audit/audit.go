// SPDX-License-Identifier: Apache-2.0

// Package audit writes down what was asked, decided and run, and reads it back.
//
//	Record --Log.Write--> one line of audit.log --Reader--> Parse --> Entry
//	                                              \-------> Verify
//
// Its one law: a record is one line of printable ASCII, appended by one write, from
// which the bytes of the command can be told exactly and which names the record before
// it; START is written before anything runs, and when it cannot be written nothing runs.
// It decides nothing and shows nothing.
package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// Kind is what a record tells.
type Kind string

const (
	Request     Kind = "REQUEST"      // a person is about to be asked
	AutoApprove Kind = "AUTO_APPROVE" // policy allowed it, and nobody was asked
	Approve     Kind = "APPROVE"      // a person allowed it
	Deny        Kind = "DENY"         // policy or a person refused it
	Timeout     Kind = "TIMEOUT"      // nobody answered in time
	Cancel      Kind = "CANCEL"       // the caller left before anybody answered
	Start       Kind = "START"        // a command is about to run
	Complete    Kind = "COMPLETE"     // it has ended
	Refusals    Kind = "REFUSALS"     // so many were refused that each had no record of its own
)

// Who is the session that a record is about: the host's own knowledge, never a word of
// the container's. What is not known is empty.
type Who struct {
	Project   string // base name of the directory where the session was started
	Branch    string // of git, in that directory, when the session was started
	Session   string
	Container string // its name
	Agent     string
}

// Record is one event of one request.
type Record struct {
	Kind     Kind
	Request  string
	Args     []string // of the command
	Dir      string   // REQUEST, START: where it runs, on the host
	Path     string   // REQUEST, START: what runs
	Rule     string   // which rule decided
	Pattern  string   // AUTO_APPROVE: what of the rule matched; the rule itself when empty
	Reason   string   // DENY, REFUSALS: why
	By       string   // APPROVE, DENY: the user who decided, if it was a person
	Approved bool     // START: a person has allowed it; it is not shown, see SyncApproved
	Exit     int      // COMPLETE
	Signal   string   // COMPLETE: what killed it, if anything did
	Took     time.Duration
	Count    int       // REFUSALS: how many; Request and Args are those of the last
	Since    time.Time // REFUSALS: when the first of them was refused
}

// SyncMode says when a record has to be on the disk, and not only with the kernel. A
// record that is with the kernel outlives this process, but not a loss of power.
type SyncMode int

const (
	SyncNever    SyncMode = iota
	SyncApproved          // APPROVE, and the START of what a person approved
	SyncAlways
)

// Options are what the owner of a log may choose. Its zero value writes one file for ever.
type Options struct {
	Sync         SyncMode
	Redact       []*regexp.Regexp // what they match of a command's line is not written
	PerContainer bool             // a copy of each container's records in audit/NAME.log as well
	Rotate       int64            // begin a new file rather than let one grow beyond; 0 never does
	Keep         int              // how many files that are full stay; 0 keeps all
	Fresh        bool             // the session has no records yet: they need not be looked for
}

const (
	// DefaultRotate and DefaultKeep bound a log that nobody has configured: 576 MiB in all.
	DefaultRotate = 64 << 20
	DefaultKeep   = 8
)

// Log is an open audit log, for one container of a session. Any number of processes may
// append to one file, but only one at a time may write a session's records.
type Log struct {
	who  Who
	book *book
}

// book is what the Logs of one session share.
type book struct {
	opts Options
	main *file
	dir  string // of the copies
	now  func() time.Time

	mu     sync.Mutex       // guards the fields below, and is held while a record is written
	chain  link             // the last record that was written
	copies map[string]*file // by container
	missed []missed
	retry  *time.Timer // while there are missed records
	closed bool
}

// Open opens the log at path, which it makes if need be with mode 0600, for a session. A
// file that others can write, or a symbolic link in its place, is an error.
func Open(path string, who Who, opts Options) (*Log, error) {
	b := &book{opts: opts, main: newFile(path, opts), dir: filepath.Join(filepath.Dir(path), "audit"), now: time.Now, copies: map[string]*file{}}
	err := b.main.open()
	if err == nil && !opts.Fresh {
		b.chain, err = last(path, who.Session)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open audit log: %w", err), b.main.close())
	}
	return &Log{who: who, book: b}, nil
}

// Named returns the same log for the session's container under its name, which is
// known only once it has been created.
func (l *Log) Named(container string) *Log {
	named := *l
	named.who.Container = container
	return &named
}

// Write appends r. It returns after the kernel has taken the whole line, and the disk if
// that was asked for.
func (l *Log) Write(r Record) error {
	if err := l.book.write(l.who, r); err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

var (
	errClosed = errors.New("it is closed")
	errLong   = errors.New("the record is too long")
)

func (b *book) write(who Who, r Record) error {
	body := body(who, r, b.opts.Redact) // it may be long: others need not wait for it
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed
	}
	b.writeMissed()
	line, err := b.appendLocked(who, body)
	if err != nil {
		if r.Kind == Complete && !errors.Is(err, errLong) {
			b.keepMissed(missed{who, body})
		}
		return err
	}
	return b.secure(who, line, r.Kind == Approve || r.Approved)
}

// appendLocked appends a record, of which body is the text, to the log, and returns its line.
func (b *book) appendLocked(who Who, body string) (line []byte, err error) {
	line, next := b.chain.seal(b.now(), who.Session, body)
	if len(line) > maxLine {
		return nil, errLong
	}
	if err := b.main.append(line); err != nil {
		return nil, err
	}
	b.chain = next
	return line, nil
}

// secure does what else is to be done with a line of the log: a copy, and the way to the disk.
func (b *book) secure(who Who, line []byte, approved bool) error {
	if b.opts.PerContainer {
		if err := b.copyOf(who).append(line); err != nil {
			return err
		}
	}
	if b.opts.Sync == SyncAlways || b.opts.Sync == SyncApproved && approved {
		return b.main.f.Sync()
	}
	return nil
}

// copyOf returns the file for the records of a container alone, or of a session whose
// container has no name yet, or one that cannot be the name of a file.
func (b *book) copyOf(who Who) *file {
	name := who.Container
	if !spelling.Container.Matches(name) {
		name = "session-" + who.Session
	}
	f, ok := b.copies[name]
	if !ok {
		f = newFile(filepath.Join(b.dir, name+".log"), b.opts)
		b.copies[name] = f
	}
	return f
}

// Close closes the log, also for those that Named has returned.
func (l *Log) Close() error {
	b := l.book
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

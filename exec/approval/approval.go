// SPDX-License-Identifier: Apache-2.0

// Package approval is the queue of questions that one session has for a person.
//
//	call --Ask--> Queue <--Approve, Grant, Deny-- whoever may decide
//	     <-Answer-      --Pending, Changed-->
//
// Its one law: whoever takes a waiter out of the queue settles it, so that of approval,
// denial, timeout and a caller that leaves exactly one wins; and an answer is to what was
// shown, by its digest, and to no more callers than were shown, or were granted. It runs
// nothing, and it does not know how a person is told.
package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Question is what a person is asked. Everything in it but Args and Cwd is the host's own
// knowledge.
type Question struct {
	ID        string   // of the request that asked first, 16 hex digits
	Args      []string // what is to run; Args[0] is the command's name
	Cwd       string   // the caller's, in the container
	Dir       string   // the same on the host
	Path      string   // the program, on the host
	Rule      string   // which rule asks
	Session   string
	Container string // its name
	Project   string
	Effects   []string     // what the rule says that it does: read, write, network, code
	Grade     policy.Grade // how likely it is that the command runs code that the container can write
	Notes     []string     // further facts for the decision: stdin, copies
	Asked     time.Time
	Deadline  time.Time // of the last that waits
	Waiting   []string  // the requests that wait for this one answer, oldest first
	Gone      int       // how many of them have no caller any more, who may come back until Deadline
	Branch    string    // of git, in the project, if it has one
	Agent     string    // what runs in the container, if the host knows
}

// Digest identifies everything that an answer is about: what runs, where, by which rule,
// for which session. Equal questions have equal digests, whoever asks.
func (q *Question) Digest() string {
	h := sha256.New()
	fixed := []string{q.Session, q.Container, q.Cwd, q.Dir, q.Path, q.Rule, string(q.Grade)}
	for _, list := range [][]string{fixed, q.Effects, q.Notes, q.Args} {
		writeLen(h, len(list))
		for _, s := range list {
			writeLen(h, len(s))
			io.WriteString(h, s)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeLen(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// Outcome is how a question ended. Its zero value is not approval.
type Outcome int

const (
	Cancelled Outcome = iota // the caller left, or the session ended
	Denied                   // by a person
	Refused                  // without asking: Reason says why
	TimedOut                 // nobody answered in time
	Approved
)

// Answer is what Ask returns.
type Answer struct {
	Outcome Outcome
	Reason  string // of Denied and Refused
	By      string // the user who decided, of Approved and Denied
}

// DefaultReason is the reason of a denial that gives none.
const DefaultReason = "Denied by user"

// DefaultTimeout is how long a question waits for its answer.
const DefaultTimeout = 5 * time.Minute

// What one session may have open at a time. A person can read five questions; identical
// ones are one.
const (
	maxQuestions = 5
	maxWaiting   = 100
)

var (
	// ErrUnknown: nothing of that id waits, any more or at all.
	ErrUnknown = errors.New("no such request waits for approval")
	// ErrChanged: what waits is not what was shown.
	ErrChanged = errors.New("the request is not the one that was shown")
	// ErrTerms: not a way in which an approval can hold.
	ErrTerms = errors.New("an approval holds for a time, for a number of calls or always: for one of them")
	// ErrWithdrawn is the cause of an Ask's context where the caller took its request back,
	// as by ^C: a durable queue keeps no place for it.
	ErrWithdrawn = errors.New("the caller was interrupted")
	// ErrNoGrant: no grant of that id holds, any more or at all.
	ErrNoGrant = errors.New("no such grant")
)

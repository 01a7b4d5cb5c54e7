// SPDX-License-Identifier: Apache-2.0

// Package approval holds the queue of questions of one session.
//
//	call --Ask--> Queue <--Approve, Grant, Deny-- a person
//	     <-Answer-      --Pending, Changed-->
//
// A waiter is a request that waits for the answer to a question. The code that removes a waiter from the queue also
// answers it. So exactly one of approval, denial, timeout and cancellation wins. A person's answer repeats
// Question.ShownDigest: it applies only to the question that was shown. An approval applies to the callers that were
// shown, or that a grant covers. A denial applies to all callers of the question. The package runs no command and sends
// no notification.
package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Question asks a person whether a request may run. The host sets all fields. Args, Cwd, Called and Copied can contain
// words of the caller. Notes, Inputs, Diff, Preview and Branch can contain data of the container. It has a field for
// each fact that a person can see.
type Question struct {
	ID        string   // of the first request for this question, 16 hex digits
	Args      []string // the command; Args[0] is its name
	Cwd       string   // the caller's directory in the container
	Dir       string   // the same directory on the host
	Path      string   // the program: see Verdict.Program
	Rule      string   // the rule that asks
	Session   string
	Container string       // name of the container
	Project   string       // base name of the directory where the session was started
	Effects   []string     // stated by the rule: read, write, network, code
	Grade     policy.Grade // probability that the command runs code that the container can write
	Notes     []string     // further facts for the decision: stdin, copies
	Branch    string       // git branch of the project, if any
	Agent     string       // the agent in the container, if known

	// The Queue sets these.
	Asked        time.Time
	Deadline     time.Time // the latest one of the requests in Waiting
	Waiting      []string  // the requests that wait for this answer, oldest first
	Disconnected int       // number of waiting requests whose callers have left; each stays for a minute at most
	Earlier      Earlier

	Inputs   *inputs.Set // the files on whose content an approval can depend; nil: it cannot
	NoInputs string      // why it cannot
	Diff     string      // how Inputs differ from those of an approval that held while they were unchanged
	Preview  *Preview    // nil: the rule has none, or the question was not shown yet

	// Copied has the caller's words for the arguments that are copies of files. Notes show the SHA-256 of each copy.
	Copied map[int]string

	// A grant with a varying argument needs these.
	Called []string  // the caller's own arguments, if Args has others; then Notes[0] shows them
	Mount  BindMount // the bind mount that contains Dir
	Paths  []int     // arguments that were found to be paths below Mount
	Offers []Offer   // which arguments may vary

	// Setup identifies how the command runs, as far as the other fields do not show it: its environment, sandbox and
	// limits. It is not part of the digest. If it is empty, the question is shown alone: see Group.
	Setup string
}

// Preview is the output of the command that ran before the question, with arguments that make it only show its effects.
// The container may control the program, so the output proves nothing.
type Preview struct {
	Added   []string // the arguments that the rule adds
	Output  string   // the beginning, in lines of printable ASCII and tabs
	Problem string   // why there is no output, or not all of it
}

// texts returns all texts of p that a person is shown, or nil if p is nil.
func (p *Preview) texts() []string {
	if p == nil {
		return nil
	}
	return append([]string{p.Output, p.Problem}, p.Added...)
}

// Named returns Args with the caller's words in place of copies. Simultaneous calls have different copies of the same
// file, and the path of a copy does not say which file it is.
func (q *Question) Named() []string {
	if len(q.Copied) == 0 {
		return q.Args
	}
	named := slices.Clone(q.Args)
	for n := range named {
		if word, ok := q.Copied[n]; ok {
			named[n] = word
		}
	}
	return named
}

// Digest identifies a question without its inputs and preview: requests whose questions have equal digests wait for the
// same answer. It covers Session, Cwd, Dir, Path, Rule, Grade, Effects, Notes and the result of Named, and no other
// field. A session's container can be renamed. Equal questions of different callers have equal digests.
func (q *Question) Digest() string {
	return digestOf([]string{q.Session, q.Cwd, q.Dir, q.Path, q.Rule, string(q.Grade)}, q.Effects, q.Notes, q.Named())
}

// ShownDigest identifies what a person was shown: the question, its inputs and their changes, and its preview. An
// answer has to repeat it.
func (q *Question) ShownDigest() string {
	files := q.Inputs.Digest()
	if files == "" && q.Diff == "" && q.Preview == nil {
		return q.Digest()
	}
	return digestOf([]string{q.Digest(), files, q.Diff}, q.Preview.texts())
}

// digestOf returns the SHA-256 digest of lists, in hex. Different lists have different digests.
func digestOf(lists ...[]string) string {
	h := sha256.New()
	writeLen := func(n int) { h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	for _, list := range lists {
		writeLen(len(list))
		for _, s := range list {
			writeLen(len(s))
			io.WriteString(h, s)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// identity returns q without its files and its preview, which the Question of a grant or a denial does not keep.
func (q Question) identity() Question {
	q.Inputs, q.NoInputs, q.Diff, q.Preview = nil, "", "", nil
	return q
}

// Outcome is the result of a question. The zero value is not an approval.
type Outcome int

const (
	Cancelled Outcome = iota // the caller left, or the session ended
	Denied                   // by a person
	Refused                  // without asking; Reason contains the cause
	TimedOut                 // nobody answered before the deadline
	Approved
)

// Answer is the result of Ask.
type Answer struct {
	Outcome  Outcome
	Reason   string // for Denied and Refused
	By       string // for Approved and Denied: the user who decided, or the grant or denial of a person
	Standing bool   // for Denied: the same question is denied for this session
	Grant    string // for Approved: the Grant.Summary of the grant that the person made with the answer
	Inputs   string // for Approved: the approval holds only if the inputs have this digest; empty: with any inputs
}

// DefaultReason is the reason of a denial for which the person gave none.
const DefaultReason = "Denied by user"

// defaultTimeout is the default time that a question waits for its answer.
const defaultTimeout = 5 * time.Minute

// Limits of the open questions of one session. A person can read five questions. Identical
// questions count as one.
const (
	maxQuestions = 5
	maxWaiting   = 100
)

var (
	// ErrUnknown means that no request with this ID waits.
	ErrUnknown = errors.New("no such request waits for approval")
	// ErrChanged means that the waiting question differs from the one that was shown, or that none of its requests that
	// were shown still waits.
	ErrChanged = errors.New("the request is not the one that was shown")
	// ErrTerms means that the terms are not valid.
	ErrTerms = errors.New("an approval holds for a time, for a number of calls, or always: name exactly one")
	// ErrNoInputs means that the approval cannot depend on files: Question.NoInputs says why.
	ErrNoInputs = errors.New("the approval cannot depend on files")
	// ErrWithdrawn is the cancellation cause of Ask's context if no caller will come back for the answer, as after ^C.
	// Causes that wrap it have the same effect. A durable queue then removes the waiter.
	ErrWithdrawn = errors.New("the caller was interrupted")
	// ErrNoGrant means that no valid grant has this ID.
	ErrNoGrant = errors.New("no such grant")
)

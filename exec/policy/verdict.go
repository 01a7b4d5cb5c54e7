// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"time"
)

// Verdict is the answer to a request: whether it runs, why, and as what. All that is unset
// is the narrower choice.
type Verdict struct {
	Action  Action
	Rule    string // which rule decided, as the user wrote it; empty when none did
	Pattern string // the pattern of a list that decided
	Reason  string // why, when it is deny
	Doubt   string // why it asks, although a rule allows it
	Command Command

	Place    Place       // where it runs
	Args     []string    // what really runs; Args[0] is the command's name
	Paths    []PathCheck // those of Args that have to be looked at before it does
	SHA256   string      // of the program, in hex; empty: any
	Effects  []string    // what the rule says of itself: read, write, network, code
	Grade    Grade       // how likely it is that the command runs code that the container can write
	Profile  Profile
	Timeout  time.Duration // of the run; 0: none
	Env      Env
	NewPrivs bool // it may gain privileges
	Leave    bool // what it leaves running is not ended with the session
	Keep     bool // as a job it may outlive the session's container, without anybody being asked
	Record   bool // its output is kept

	Steps int // of matching that the decision took
}

// Known reports whether the request named a command that can be requested at all.
func (v Verdict) Known() bool { return v.Command.Name != "" }

// Profile is what of the caller's a command gets.
type Profile struct {
	Whole  bool // all, as if it were local: nothing below holds
	TTY    bool
	Stdin  Stdin
	Output int64 // bytes of stdout and stderr together
}

// StdinMode is what a command reads.
type StdinMode int

const (
	StdinNone    StdinMode = iota // /dev/null
	StdinPipe                     // the caller's
	StdinCapture                  // the caller's, read whole before anybody is asked
)

// Stdin is a mode, and for StdinCapture the bytes that it may have.
type Stdin struct {
	Mode  StdinMode
	Limit int64
}

// Env is what the environment of a command is made of.
type Env struct {
	Clean bool              // from a short list of names, not from all that the watcher has
	Pass  []string          // names of the watcher's that are added to that list
	Set   map[string]string // what the host sets, over all else
}

// PathCheck is an argument that has to resolve below one of the container's mounts.
type PathCheck struct {
	Index    int    // in Verdict.Args
	Root     string // ws: any mount of the container's that is mapped
	Type     FileType
	Snapshot Snapshot
}

// Snapshot is of which paths a copy is what is shown and what runs: between the look at a file
// and its use the container can put another one, or a link, in its place. The zero value copies.
type Snapshot int

const (
	SnapshotFiles Snapshot = iota // of files, on the host; a directory is what its name leads to
	SnapshotAll                   // of files, wherever the command runs; a directory is refused
	SnapshotNone                  // of none
)

// Copies reports whether a file is copied for a command that runs in a container or not.
func (s Snapshot) Copies(contained bool) bool {
	return s == SnapshotAll || s == SnapshotFiles && !contained
}

// FileType is what a path has to be.
type FileType string

const (
	TypeAny  FileType = "any"
	TypeFile FileType = "file"
	TypeDir  FileType = "dir"
)

// DefaultOutput is how much a command may write that a rule or a list allowed.
const DefaultOutput = 64 << 20

// Settings are how a command runs. What is nil is inherited: a rule's from its command's,
// a command's from the defaults'.
type Settings struct {
	Stdin    *Stdin
	TTY      *bool
	Timeout  *time.Duration
	Output   *int64
	NewPrivs *bool
	Leave    *bool
	Keep     *bool
	Record   *bool
	Env      *Env
}

// Over returns s where it says something, and base elsewhere. Names to pass and variables
// to set add up.
func (s Settings) Over(base Settings) Settings {
	or(&base.Stdin, s.Stdin)
	or(&base.TTY, s.TTY)
	or(&base.Timeout, s.Timeout)
	or(&base.Output, s.Output)
	or(&base.NewPrivs, s.NewPrivs)
	or(&base.Leave, s.Leave)
	or(&base.Keep, s.Keep)
	or(&base.Record, s.Record)
	base.Env = s.Env.Over(base.Env)
	return base
}

func or[T any](at **T, value *T) {
	if value != nil {
		*at = value
	}
}

func (e *Env) Over(base *Env) *Env {
	switch {
	case e == nil:
		return base
	case base == nil:
		return e
	}
	sum := &Env{Clean: e.Clean || base.Clean, Set: map[string]string{}}
	sum.Pass = append(append(sum.Pass, base.Pass...), e.Pass...)
	maps.Copy(sum.Set, base.Set)
	maps.Copy(sum.Set, e.Set)
	return sum
}

// pinned keeps what nobody opened a terminal for from looking for one: a pager in an
// allowed git log is a shell.
var pinned = map[string]string{
	"PAGER": "cat", "GIT_PAGER": "cat", "GH_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat",
	"LESSSECURE": "1", "SYSTEMD_PAGERSECURE": "1", "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never",
}

// apply gives v what s says. A whole command has what a local one has, but for its time,
// its environment and what becomes of it.
func (s Settings) apply(v *Verdict, whole bool) {
	v.Profile = Profile{Whole: whole}
	if !whole {
		v.Profile.Output = DefaultOutput
		v.Profile.TTY = value(s.TTY)
		v.Profile.Stdin = value(s.Stdin)
		if s.Output != nil {
			v.Profile.Output = *s.Output
		}
	}
	env := value(s.Env)
	v.Env = Env{Clean: env.Clean, Pass: env.Pass, Set: map[string]string{}}
	if !whole && !v.Profile.TTY {
		maps.Copy(v.Env.Set, pinned)
	}
	maps.Copy(v.Env.Set, env.Set)
	v.Timeout, v.NewPrivs, v.Record = value(s.Timeout), value(s.NewPrivs), value(s.Record)
	v.Leave, v.Keep = value(s.Leave), value(s.Keep)
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"time"
)

// Verdict is the answer to a request: whether it runs, why, and how. Without Action it is denied, and unset
// fields of Streams are the more restrictive choice. It has many fields because a rule can set each of them.
type Verdict struct {
	Action    Action
	Rule      string // what decided: COMMAND/ID, LIST PATTERN, --proxy NAME[=ACTION] or RuleBroken; empty: nothing
	Pattern   string // the list pattern that decided
	Reason    string // why the request is denied
	AskReason string // why the action is Ask although a rule allows the request
	Command   Command

	Place          Place       // where it runs
	Sandbox        Sandbox     // of a Place that is sandboxed
	Args           []string    // the arguments that run; Args[0] is the name of the command
	Paths          []PathCheck // the arguments to check before the command runs
	Inputs         []string    // patterns of the files on which an approval may depend
	Preview        []string    // arguments that are added for a preview; empty: there is none
	SHA256         string      // of the program, in hex; empty: any
	Effects        []string    // stated by the rule: read, write, network, code
	Grade          Grade       // probability that the command runs code that the container can write
	Streams        Streams
	Timeout        time.Duration // of the run; 0: none
	Env            Env
	NewPrivs       bool // the command may gain privileges
	LeaveProcesses bool // processes that it leaves behind survive the session
	Keep           bool // as a job, it may outlive the session's container without approval
	Record         bool // its output is recorded

	Steps int // steps of matching in this decision
}

// Known reports whether the request named a command that the policy knows.
func (v *Verdict) Known() bool { return v.Command.Name != "" }

// Streams states which streams of the caller a command gets.
type Streams struct {
	Whole  bool // all of them, as if it were local; the fields below do not apply
	TTY    bool
	Stdin  Stdin
	Output int64 // maximum bytes of stdout and stderr together
}

// StdinMode is the source of a command's stdin.
type StdinMode int

const (
	StdinNone    StdinMode = iota // /dev/null
	StdinPipe                     // the caller's stdin
	StdinCapture                  // the caller's stdin, read completely before the question
)

// Stdin is a mode, and for StdinCapture the maximum number of bytes.
type Stdin struct {
	Mode  StdinMode
	Limit int64
}

// Env describes how the environment of a command is built.
type Env struct {
	Clean bool              // starts from a short list of names, not from the watcher's whole environment
	Pass  []string          // variables of the watcher that are added to that list
	Set   map[string]string // variables that the host sets; they override all others
}

// PathCheck is an argument that must resolve below one of the container's mounts.
type PathCheck struct {
	Index    int // in Verdict.Args
	Type     FileType
	Snapshot Snapshot
}

// Snapshot states which paths are copied before approval. The person sees the copy, and the command
// uses it. Otherwise the container could replace a file, or put a link there, between the check and
// the use. The zero value copies.
type Snapshot int

const (
	SnapshotFiles Snapshot = iota // files, for commands on the host; a directory is not copied
	SnapshotAll                   // files, wherever the command runs; a directory is refused
	SnapshotNone                  // nothing
)

// Copies reports whether files are copied for a command. contained reports whether it runs in a
// container.
func (s Snapshot) Copies(contained bool) bool {
	return s == SnapshotAll || s == SnapshotFiles && !contained
}

// FileType is the required type of a path.
type FileType string

const (
	TypeAny  FileType = "any"
	TypeFile FileType = "file"
	TypeDir  FileType = "dir"
)

// DefaultOutput is the default limit in bytes of the output of a command that a rule or a list
// allowed.
const DefaultOutput = 64 << 20

// Settings control how a command runs. A nil field is inherited: a rule inherits from its command,
// and a command from the defaults.
type Settings struct {
	Stdin    *Stdin
	TTY      *bool          // the command gets a terminal if its caller has one
	Timeout  *time.Duration // of the run
	Output   *int64         // maximum bytes of stdout and stderr together
	NewPrivs *bool          // setuid programs work
	Leave    *bool          // see Verdict.LeaveProcesses
	Keep     *bool          // see Verdict.Keep
	Record   *bool          // the output is recorded
	Env      *Env
}

// Over returns s, with unset fields taken from base. The names to pass and the variables to set are
// merged.
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

// Over returns e merged with base. Where both set a variable, e takes precedence.
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

// nonInteractiveEnv keeps commands without a terminal from starting a pager or a prompt. A pager in an allowed
// git log gives the caller a shell.
var nonInteractiveEnv = map[string]string{
	"PAGER": "cat", "GIT_PAGER": "cat", "GH_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat",
	"LESSSECURE": "1", "SYSTEMD_PAGERSECURE": "1", "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never",
}

// apply copies the settings to v. If whole is set, the command gets all Streams, and behaves like a local one except
// for its timeout, its environment and its lifetime.
func (s Settings) apply(v *Verdict, whole bool) {
	v.Streams = Streams{Whole: whole}
	if !whole {
		v.Streams.Output = DefaultOutput
		v.Streams.TTY = value(s.TTY)
		v.Streams.Stdin = value(s.Stdin)
		if s.Output != nil {
			v.Streams.Output = *s.Output
		}
	}
	env := value(s.Env)
	v.Env = Env{Clean: env.Clean, Pass: env.Pass, Set: map[string]string{}}
	if !whole && !v.Streams.TTY {
		maps.Copy(v.Env.Set, nonInteractiveEnv)
	}
	maps.Copy(v.Env.Set, env.Set)
	v.Timeout, v.NewPrivs, v.Record = value(s.Timeout), value(s.NewPrivs), value(s.Record)
	v.LeaveProcesses, v.Keep = value(s.Leave), value(s.Keep)
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

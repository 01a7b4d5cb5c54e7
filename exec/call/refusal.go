// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// This file has the answers to calls that fail, and hints for some that ran. Each is one line of printable ASCII with
// the reason, the request, and the next command to type. The JSON line also has the rule.

// refusal answers a request that v denies.
func refusal(sc *SessionConfig, req *request, v *policy.Verdict, verbs []string) Failure {
	e := Failure{Status: StatusNotProxied, Name: quoteWord(req.Args[0]), Reason: names.Plain(v.Reason), Rule: v.Rule, Request: req.ID}
	switch {
	case req.Args[0] == policy.Shell && !v.Known():
		e.Hint = "to allow shells, start " + sc.start() + " --proxy-shell on the host"
	case v.Rule == policy.RuleBroken:
		e.Status = StatusRefused
	case v.Known() && v.Rule == "" && req.Args[0] != policy.Shell: // nothing forbids it
		e.Status, e.Hint = StatusRefused, nearest(sc.Policy, req)+sc.explainHint(e.Name+" ...")+"; to be asked about it from now on, "+policyAdd(req.Args)+" there"
	case v.Known() && !strings.HasPrefix(v.Rule, "--proxy "):
		e.Status, e.Hint = StatusRefused, sc.explainHint(e.Name+" ...")
	case v.Known():
		e.Status, e.Hint = StatusRefused, fmt.Sprintf("to allow it, start %s --proxy %s on the host", sc.start(), e.Name)
	case policy.ValidName(req.Args[0]) && req.Args[0] != Name: // which run would refuse to proxy
		e.Hint = fmt.Sprintf("hostexec ls lists the proxied commands; to add it now, %s on the host, or start %s --proxy %s there", policyAdd(req.Args), sc.start(), e.Name)
		if near := suggestion(req.Args[0], append(sc.Policy.Names(), verbs...)); near != "" {
			e.Hint = "did you mean " + near + "? " + e.Hint
		}
	default:
		e.Hint = "hostexec ls lists the commands"
	}
	return e
}

// explainHint returns a hint with the command that shows how request is decided. It names the session, whose --proxy and
// project's rules may decide.
func (sc *SessionConfig) explainHint(request string) string {
	return "docker hostexec policy explain --session " + sc.Session + " -- " + request + " on the host shows why"
}

// nearest returns the beginning of a hint. It names the shape of a call that is near the request and that a rule allows
// or asks about. Without such a shape, it says where all shapes are.
func nearest(p *policy.Policy, req *request) string {
	shape, asked := p.Nearest(req.Request)
	switch {
	case shape == "":
		return "hostexec ls --agents lists what may be called; "
	case asked:
		return "nearest that a person is asked about: " + shape + "; "
	}
	return "nearest allowed: " + shape + "; "
}

// hostVerbs are verbs of the host that people also type in a container.
var hostVerbs = strings.Fields("approve attach audit deny detach doctor inspect pending policy resume start status stop trust")

// suggestion returns the command that a person may have meant by typed, or "". words are the commands that can be
// called.
func suggestion(typed string, words []string) string {
	if typed == "help" || typed == "version" {
		return "hostexec --" + typed
	}
	if near := names.Near(typed, words); near != "" {
		return "hostexec " + near
	}
	if near := names.Near(typed, hostVerbs); near != "" {
		return "docker hostexec " + near + ", on the host"
	}
	return ""
}

// plainWord is the form of a word that needs no quotes in any shell. zsh expands a word that begins with =.
var plainWord = names.Form{First: "A-Za-z0-9_@%+:,./-", Chars: "A-Za-z0-9_@%+=:,./-", Min: 1, Max: 64}

// policyAdd returns the command that adds a rule that asks about args. A person may copy it, so
// arguments are shown only if they need no quotes.
func policyAdd(args []string) string {
	const add = "docker hostexec policy add --ask -- "
	if len(args) > 12 || slices.ContainsFunc(args, func(a string) bool { return !plainWord.Matches(a) }) {
		return add + quoteWord(args[0]) + " ..."
	}
	return add + strings.Join(args, " ")
}

// start returns the words to type for a session like this one, without its flags.
func (sc *SessionConfig) start() string {
	if sc.Agent != "" {
		return "the agent with docker hostexec agent"
	}
	return "the container with docker hostexec run"
}

// cannotRun answers a request that the policy allows, but that cannot run.
func cannotRun(req *request, v *policy.Verdict, err error) Failure {
	if errors.Is(err, errCallerDeadline) {
		return callerDeadlineExceeded(req, v.Rule)
	}
	e := Failure{Status: StatusRefused, Name: quoteWord(req.Args[0]), Reason: names.Plain(err.Error()), Rule: v.Rule, Request: req.ID}
	if errors.Is(err, fs.ErrNotExist) {
		e.Status = StatusNotFound
	}
	return e
}

// workdirMismatch answers a request whose working directory has no counterpart on the host, or one that cannot
// be held open. lost is the reason.
func workdirMismatch(sc *SessionConfig, req *request, lost error) Failure {
	e := Failure{Status: StatusRefused, Name: quoteWord(req.Args[0]), Request: req.ID, Hint: directoriesHint(sc)}
	switch {
	case req.Cwd != "" && len(sc.Dirs.Targets()) == 0 && (errors.Is(lost, dir.ErrDeleted) || errors.Is(lost, fs.ErrNotExist)):
		e.Reason = "workdir mismatch: the host's directory where commands run was deleted"
		e.Hint = "start " + sc.start() + " in a directory that exists"
	case req.Cwd == "", errors.Is(lost, dir.ErrDeleted), errors.Is(lost, fs.ErrNotExist):
		e.Reason, e.Hint = "workdir mismatch: the current directory was deleted", "change to a directory that exists"
	case errors.Is(lost, mount.ErrMismatch):
		e.Reason = "workdir mismatch: " + names.Quoted(req.Cwd) + " is not mounted from the host"
	case errors.Is(lost, syscall.EMFILE), errors.Is(lost, syscall.ENFILE): // it is the same in all directories
		e.Reason, e.Hint = names.Plain(lost.Error()), "raise the host's limit of open files (ulimit -n), or make fewer calls at once"
	default:
		e.Reason = "workdir mismatch: " + names.Plain(lost.Error())
	}
	return e
}

// directoriesHint returns a hint in which directories calls can be made.
func directoriesHint(sc *SessionConfig) string {
	if at := sc.Dirs.Targets(); len(at) > 0 {
		for i := range at {
			at[i] = names.Quoted(at[i])
		}
		hint := "change to a directory below " + strings.Join(at, " or ")
		if sc.Dirs.Unused() != "" {
			hint += ", or mount the host's directory here, too: in a container with mounts, --workdir-host has no effect"
		}
		return hint
	}
	option := "start " + sc.start() + " --workdir-host DIR to name the host's directory"
	if d := sc.Dirs.Default(); d.Target != "" {
		return "change to " + names.Quoted(d.Target) + ", or " + option
	}
	return option
}

// keepDenied answers a request that may run, but not outlive its container.
func keepDenied(req *request, v *policy.Verdict) Failure {
	name := quoteWord(req.Args[0])
	return Failure{Status: StatusRefused, Name: name, Reason: "--keep: " + errKeepDenied.Error(), Rule: v.Rule, Request: req.ID,
		Hint: "to allow it, add keep: true to the rule, or start docker hostexec run --proxy " + name + ",keep, on the host"}
}

var errKeepDenied = errors.New("no rule allows this job to outlive its container")

// jobRefused answers a request for which no job can be created: the limit of jobs, or a full disk. Other errors
// stay on the host.
func jobRefused(err error) string {
	if errors.Is(err, job.ErrFull) {
		return err.Error()
	}
	return "the job cannot be kept" + fullDisk(err)
}

// unreachable answers a caller that may not use shells in a container.
func unreachable(o ShellRequest) Failure {
	return Failure{Status: StatusRefused, Name: o.shown(), Reason: "shells in container " + quoteWord(o.In) + " are not allowed",
		Hint: "to allow them, start this container with docker hostexec run --proxy-shell=allow,in=" + quoteWord(o.In) + " on the host"}
}

func waiting(req *request) string {
	return MessageLine("%s: waiting for approval (request %s): docker hostexec approve %s on the host", quoteWord(req.Args[0]), req.ID, req.ID)
}

func denied(req *request, dc *decidedCall, a approval.Answer) Failure {
	e := Failure{Status: StatusDenied, Name: quoteWord(req.Args[0]), Reason: "Command denied: " + names.Printable(a.Reason), Rule: dc.v.Rule, Request: req.ID}
	if a.Standing {
		e.Reason += "; the same is denied for this session"
	}
	if a.Outcome == approval.Refused {
		e.Status, e.Reason, e.Hint = StatusRefused, a.Reason, dc.cause()
	}
	return e
}

func unanswered(req *request, dc *decidedCall) Failure {
	e := Failure{Status: StatusTimeout, Name: quoteWord(req.Args[0]), Reason: "Command timed out waiting for approval", Rule: dc.v.Rule, Request: req.ID,
		Hint: "docker hostexec pending --watch on the host shows such requests"}
	if why := dc.cause(); why != "" {
		e.Hint = why
	}
	return e
}

// cause returns the reason why a person is asked although a rule allows the request, and the change that would
// avoid the question, or nothing.
func (dc *decidedCall) cause() string {
	switch {
	case dc.askProblem == nil:
		return ""
	case dc.askProblem.Fix == "":
		return "it asks because " + dc.askProblem.Reason
	}
	return "it asks because " + dc.askProblem.Reason + ": " + dc.askProblem.Fix
}

// overLimit answers a request that would take its session beyond a limit, or has.
func overLimit(req *request, v *policy.Verdict, over *limit.Error) Failure {
	e := Failure{Status: StatusRefused, Reason: "refused: " + over.Error(), Rule: v.Rule, Request: req.ID, Hint: over.Hint()}
	if len(req.Args) > 0 {
		e.Name = quoteWord(req.Args[0])
	}
	return e
}

// endFailure answers a request whose command was ended by a limit or a timeout. It reports false for other errors.
func endFailure(req *request, v *policy.Verdict, err error) (e Failure, ended bool) {
	var over *limit.Error
	switch {
	case errors.As(err, &over):
		e = overLimit(req, v, over)
		e.Status, e.Reason = StatusFailed, "ended: "+over.Error()
	case errors.Is(err, errTooLong):
		e = Failure{Status: StatusTimeout, Name: quoteWord(req.Args[0]), Rule: v.Rule, Request: req.ID,
			Reason: fmt.Sprintf("ended after %s, the timeout of %s", v.Timeout, v.Rule)}
	case errors.Is(err, errCallerDeadline):
		e = callerDeadlineExceeded(req, v.Rule)
	case errors.Is(err, errOutputLimit):
		e = Failure{Status: StatusFailed, Name: quoteWord(req.Args[0]), Rule: v.Rule, Request: req.ID,
			Reason: fmt.Sprintf("the output was cut after %d bytes, the limit of %s", v.Streams.Output, v.Rule)}
	default:
		return Failure{}, false
	}
	return e, true
}

// callerDeadlineExceeded answers a request whose caller set a deadline that has passed.
func callerDeadlineExceeded(req *request, rule string) Failure {
	return Failure{Status: StatusTimeout, Name: quoteWord(req.Args[0]), Rule: rule, Request: req.ID,
		Reason: fmt.Sprintf("timeout: ended after %s, the limit of its caller", req.limit)}
}

// notRun answers a request whose command could not be started.
func notRun(req *request, v *policy.Verdict, err error) Failure {
	e := Failure{Name: quoteWord(req.Args[0]), Rule: v.Rule, Request: req.ID}
	var hint interface{ Hint() string }
	switch path := strconv.QuoteToASCII(v.Command.Path); {
	case errors.As(err, &hint):
		e.Status, e.Reason, e.Hint = StatusFailed, names.Plain(err.Error()), names.Plain(hint.Hint())
	case v.Place.InContainer() && errors.Is(err, fs.ErrNotExist):
		e.Status, e.Reason, e.Hint = StatusNotFound, "not found in "+v.Program(), "--proxy "+e.Name+"=/PATH, or exec: in the configuration, names its path in the image"
	case v.Place.InContainer() && errors.Is(err, fs.ErrPermission):
		e.Status, e.Reason, e.Hint = StatusNotExecutable, "not executable in "+v.Program(), "check its mode in the image"
	case errors.Is(err, fs.ErrNotExist):
		e.Status, e.Reason, e.Hint = StatusNotFound, "not found on the host any more", "look for "+path+" there"
		if missing := hostcode.MissingInterpreter(v.Command.Path); missing != "" {
			e.Reason, e.Hint = "its interpreter is missing on the host", "look for "+strconv.QuoteToASCII(missing)+" there, which "+path+" needs"
		}
	case errors.Is(err, fs.ErrPermission):
		e.Status, e.Reason, e.Hint = StatusNotExecutable, "not executable on the host", "check the mode of "+path+" there"
	case fullDisk(err) != "":
		e.Status, e.Reason, e.Hint = StatusFailed, "could not be run"+fullDisk(err), spaceHint
	default:
		e.Status, e.Reason, e.Hint = StatusFailed, "could not be run: "+names.Plain(err.Error()), logsHint
	}
	return e
}

const (
	logsHint  = "docker hostexec logs on the host may show more"
	spaceHint = "docker hostexec doctor on the host shows more"
)

// Failed returns the answer to a request that hostexec itself could not serve.
func Failed(why string) Failure { return Failure{Status: StatusFailed, Reason: why, Hint: logsHint} }

// badRequest answers bytes that are not a request.
func badRequest(err error, version string) Failure {
	if errors.Is(err, wire.ErrVersion) {
		return Failure{Status: StatusFailed, Hint: "docker hostexec resume on the host renews the shim",
			Reason: fmt.Sprintf("this shim and the host's hostexec %s use different versions of the protocol", version)}
	}
	return Failure{Status: StatusFailed, Reason: fmt.Sprintf("not a request: %v", err)}
}

// UsageError returns the answer to words that hostexec does not understand.
func UsageError(why string) Failure {
	return Failure{Status: StatusFailed, Reason: why, Hint: "see hostexec --help"}
}

// unwritten says why nothing runs: a command without a record in the audit log must not run.
func unwritten(err error) string { return "the audit log cannot be written" + fullDisk(err) }

// fullDisk names the directory without space left, if err says so. Other errors are only for the host's
// log.
func fullDisk(err error) string {
	var at *fs.PathError
	if !limit.DiskFull(err) || !errors.As(err, &at) {
		return ""
	}
	return ": no space left in " + names.Plain(filepath.Dir(at.Path)) + " on the host"
}

// A command gets a terminal only if the caller's stdin and stdout both are terminals. In
// git push 2>&1 | tee log they are not. A program that asks for a passphrase on /dev/tty then fails, and
// its own message does not say why.

// promptFailed are the exit codes of git and ssh for such a failure, among others.
var promptFailed = []int{128, 255}

// explainMissingTerminal adds to e that the command had no terminal, if its caller has one and the command may have
// failed for that reason. Many other failures have the same exit codes.
func (r *request) explainMissingTerminal(e wire.Exit, v *policy.Verdict) wire.Exit {
	half := slices.Contains(r.fds[:], wire.FDTTY) && !(r.fds[0] == wire.FDTTY && r.fds[1] == wire.FDTTY)
	if half && !r.detached && v.Streams.Whole && slices.Contains(promptFailed, int(e.Code)) {
		e.Text = MessageLine("%s: hint: if it wanted to ask something, it had no terminal to ask on, because stdin and stdout are not both a terminal: then call it without a pipe", quoteWord(r.Args[0]))
	}
	return e
}

// explainMissingStdin makes the shim tell a caller with data on stdin that the command got none.
func (r *request) explainMissingStdin(e wire.Exit) wire.Exit {
	if r.stdinWithheld {
		e.Consumed = wire.Withheld
		e.Text = MessageLine("stdin was not passed on: a command that a rule or list allows gets it only if the rule has stdin: pipe")
	}
	return e
}

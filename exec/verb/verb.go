// SPDX-License-Identifier: Apache-2.0

// Package verb has the verbs that a container calls as hostexec ls, ps, logs, wait, kill and session,
// and the options of hostexec COMMAND.
//
//	call.Server --Call--> verb --Print, Run, Fail--> caller
//
// The shim parses no arguments: it sends them to the host. A verb parses them and calls the methods of call.Call. It
// makes no decisions and starts no processes itself.
package verb

import (
	"context"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/call"
)

const usage = `Usage: hostexec <command> [args...]

Runs a command on the host, if the person there allowed it.

  hostexec CMD ARG...      run CMD on the host, as typing CMD does
  hostexec -- CMD ARG...   the same, when CMD is one of the words below
  hostexec --timeout TIME CMD ARG...
                           the same, for no longer than TIME: 5s, 2m, 300
                           (HOSTEXEC_TIMEOUT=TIME does so for every call)
  hostexec --env NAME=VALUE CMD ARG...
                           the same, with a variable that the host lets through
                           (--pass-env NAME there)
  HOSTEXEC_STDIN=null      in the environment of a call: the command reads /dev/null, as
                           it does for an agent unless this is auto
  hostexec ls [--json]     list the commands that may be called; --agents: what an agent
                           should know about them, in Markdown
  hostexec ps [--json]     list the calls that are running, the jobs, and what either
                           has left running
  hostexec session ...     shells that keep their state: hostexec session --help
  hostexec --version       print the version that serves this container
  hostexec --help          print this text

A job is a command that goes on without its caller, until it or this container ends:

  hostexec -d CMD ARG...   start a job, print its id and the host's process id
      --wait-for-log RE    first wait until it writes a line that RE matches
      --wait-for-port N    first wait until it listens on TCP port N
      --wait-timeout TIME  end it if that takes longer (1m)
      --timeout TIME       end it after TIME
      --keep               let it go on when this container has ended, if the host
                           lets it
  hostexec logs [-f] [--combined] [--raw] JOB
                           show what it wrote; -f goes on until it ends; --combined
                           writes both streams to stdout; --raw keeps the prefix of
                           each line that says whose it is
  hostexec wait JOB...     wait until they end, and exit as the last one did
  hostexec kill ID...      end jobs, calls and texts of shells, and all that they started,
                           even of those that have ended; or --all, of jobs that run
      -s SIGNAL            only send SIGNAL to the commands of jobs

JOB and ID are ids that hostexec ps lists, or their first characters.

EXIT STATUS
  0 to 255  the command's own
  1         of kill: an id was not there, or had ended and left nothing
  124       a timeout
  125       hostexec itself failed
  126       refused by policy or by a person, or not executable
  127       not found on the host, or not a proxied command
`

// verbNames are the verbs that run no command, except the words of session that run a text.
var verbNames = []string{"ls", "ps", "logs", "wait", "kill", "session"}

// Verbs implements Verbs.
type Verbs struct{}

// Names implements Verbs.
func (Verbs) Names() []string { return verbNames }

// Serve implements call.Verbs: it runs a verb, or the command that follows hostexec.
func (Verbs) Serve(ctx context.Context, c *call.Call) error {
	args := c.Words()
	if len(args) == 0 {
		return c.Fail(call.Failure{Status: call.StatusFailed, Code: 1, Line: firstLine(usage), Reason: "no command is named", Hint: "see hostexec --help"})
	}
	if why := unsupported(c.OneAnswer(), args); why != "" {
		return c.Fail(call.Failure{Status: call.StatusUnsupported, Reason: why, Hint: "call the command itself, or hostexec in the container"})
	}
	if slices.Contains(verbNames, args[0]) {
		if in, err := c.Enter(ctx); !in {
			return err
		}
	}
	switch args[0] {
	case "ls":
		return ls(c, args[1:])
	case "ps":
		return ps(c, args[1:])
	case "logs":
		return logs(ctx, c, args[1:])
	case "wait":
		return wait(ctx, c, args[1:])
	case "kill":
		return kill(ctx, c, args[1:])
	case "session":
		return session(ctx, c, args[1:])
	}
	return run(ctx, c, args)
}

// unsupported returns the reason why a caller over carrier cannot use args, the words after hostexec. Callers
// that get a single answer have no jobs, shells and timeouts, because no signal can reach these calls.
func unsupported(carrier string, args []string) string {
	if carrier == "" {
		return ""
	}
	switch args[0] {
	case "ls", "-h", "--help", "--version", "--":
		return ""
	case "ps", "logs", "wait", "kill", "session":
		return "hostexec " + args[0] + " is not there over " + carrier
	}
	if strings.HasPrefix(args[0], "-") {
		return "options of hostexec, such as -d for a job, are not there over " + carrier
	}
	return ""
}

func firstLine(s string) string { return s[:strings.IndexByte(s, '\n')+1] }

// SPDX-License-Identifier: Apache-2.0

// Package verb has the verbs that a container calls as hostexec ls, ps, logs, wait, kill and session,
// and the options of hostexec COMMAND.
//
//	call.Server --VerbCall--> verb --Print, Run, Fail--> caller
//
// The shim sends its arguments to the host. A verb parses them and calls the methods of call.VerbCall. It makes no
// decisions and starts no processes itself. The verb session is about shells, of which a session can have many.
package verb

import (
	"context"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/call"
)

const usage = `Usage: hostexec <command> [args...]

Runs a command on the host, if the policy or a person there allows it.

  hostexec CMD ARG...      run CMD on the host, like CMD without hostexec
  hostexec -- CMD ARG...   the same, if CMD is also a command of hostexec, such as ls
      --timeout TIME       end it after TIME: 5s, 2m, 300 (seconds)
      --env NAME=VALUE     set a variable that the host accepts (--pass-env NAME there)
  hostexec ls [--json]     list the commands, and whether calls run, ask or are denied
  hostexec ls --agents     print what an agent should know about them, in Markdown
  hostexec ps [--json]     list calls and jobs, and processes that they left running
  hostexec session ...     use shells that keep their state: hostexec session --help
  hostexec --version       print the version of hostexec on the host
  hostexec --help          print this text

A job is a command that continues without its caller, until it or this container ends:

  hostexec -d CMD ARG...   start a job, print its id and its process id on the host
      --wait-for-log RE    first wait for a line of output that RE matches
      --wait-for-port N    first wait until the job listens on TCP port N
      --wait-timeout TIME  end the job if that takes longer than TIME (default 1m)
      --timeout TIME       end the job after TIME
      --keep               continue after the end of this container, if the host allows it
  hostexec logs JOB        print the output of a job
      -f                   until the job ends
      --combined           write both streams to stdout
      --raw                keep the prefix of each line, which marks its stream
  hostexec wait JOB...     wait until the jobs end; exit with the code of the last one named
  hostexec kill ID...      end jobs, calls and commands of shells, and the processes that
                           they have started; after their end: the processes that still run
      --all                end all jobs that run
      -s SIGNAL            only send SIGNAL to the commands of jobs

JOB and ID are ids that hostexec ps lists, or their first characters.

VARIABLES
  HOSTEXEC_TIMEOUT=TIME    --timeout for every call except logs and wait
  HOSTEXEC_STDIN=null      commands read /dev/null, the default for agents; auto: stdin

EXIT STATUS
  0 to 255  the command's own
  1         kill: an id does not exist, or has ended and left no processes; no command is given
  124       a timeout
  125       hostexec failed
  126       refused by the policy or by a person, or not executable
  127       not found on the host, or not a proxied command
`

// verbNames are the verbs that run no command, except the words of session that run a text.
var verbNames = []string{"ls", "ps", "logs", "wait", "kill", "session"}

// Verbs implements call.Verbs.
type Verbs struct{}

// Names implements call.Verbs.
func (Verbs) Names() []string { return verbNames }

// Serve implements call.Verbs: it runs a verb, or the command that follows hostexec.
func (Verbs) Serve(ctx context.Context, c *call.VerbCall) error {
	args := c.Words()
	if len(args) == 0 {
		return c.Fail(call.Failure{Status: call.StatusFailed, Code: 1, Line: firstLine(usage), Reason: "no command is named", Hint: "see hostexec --help"})
	}
	if why := unsupported(c.NonStreamingCarrier(), args); why != "" {
		return c.Fail(call.Failure{Status: call.StatusUnsupported, Reason: why, Hint: "call the command itself, or hostexec in the container"})
	}
	if args[0] == "session" {
		reportSession(c, args[1:])
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

// unsupported returns the reason why a caller over carrier cannot use args, the words after hostexec. carrier is empty
// unless the caller uses HTTP (VerbCall.NonStreamingCarrier). Such callers have no jobs, shells and timeouts, because
// no signal can reach these calls.
func unsupported(carrier string, args []string) string {
	if carrier == "" {
		return ""
	}
	switch args[0] {
	case "ls", "-h", "--help", "--version", "--":
		return ""
	case "ps", "logs", "wait", "kill", "session":
		return "hostexec " + args[0] + " does not work over " + carrier
	}
	if strings.HasPrefix(args[0], "-") {
		return "options of hostexec, such as -d for a job, do not work over " + carrier
	}
	return ""
}

func firstLine(s string) string { return s[:strings.IndexByte(s, '\n')+1] }

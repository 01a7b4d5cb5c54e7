// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// verbName is the name under which the shim is no command but hostexec itself. It
// parses nothing: its words come here and the host renders all text.
const verbName = "hostexec"

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
  hostexec ls [--json]     list the commands that may be called
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

// verbNames are those of hostexec's own that run no command; session is, but for some of its own.
var verbNames = []string{"ls", "ps", "logs", "wait", "kill", "session"}

// verb reports whether the call is of hostexec itself.
func (r *request) verb() bool { return r.Args[0] == verbName }

// verb runs a word of hostexec's own, or the command that follows it.
func (s *Server) verb(life, session, ctx context.Context, p *peer, req *request) error {
	args := req.Args[1:]
	if len(args) == 0 {
		return p.end(end{status: statusFailed, code: 1, line: firstLine(usage), reason: "no command is named", hint: "see hostexec --help"})
	}
	if why := unsupported(p.conn, args); why != "" {
		return p.end(end{status: statusUnsupported, reason: why, hint: "call the command itself, or hostexec in the container"})
	}
	if slices.Contains(verbNames, args[0]) {
		if in, err := s.enter(ctx, p, req, limit.Verbs); !in {
			return err
		}
	}
	switch args[0] {
	case "ls":
		return s.list(p, s.now(), req, args[1:])
	case "ps":
		return s.ps(p, req, args[1:])
	case "logs":
		return s.logs(ctx, p, req, args[1:])
	case "wait":
		return s.await(ctx, p, args[1:])
	case "kill":
		return s.end(ctx, p, req, args[1:])
	case "session":
		return s.session(ctx, p, req, args[1:])
	}
	o, command, err := parseOptions(args)
	switch {
	case err != nil:
		return p.end(usageError(plainText(err.Error())))
	case o.help:
		return s.print(p, req, done, []byte(usage))
	case o.version:
		return s.print(p, req, done, fmt.Appendf(nil, "hostexec version %s\n", s.Version))
	}
	if err := req.setEnv(o.env, s.now().PassEnv); err != nil {
		return p.end(*err)
	}
	req.Args, req.timeout = command, o.timeout
	if o.detach {
		if req.keep = o.keep; o.keep {
			session = life
		}
		return s.detach(session, ctx, p, req, o.ready)
	}
	return s.command(ctx, p, req)
}

// oneAnswer is a connection whose caller gets one answer, and can do nothing about a call until then.
type oneAnswer interface {
	// OneAnswer returns what such a caller is called by people, or "" where it is none.
	OneAnswer() string
}

// unsupported says why a caller of conn cannot have what args, the words behind hostexec, ask for.
// Jobs, shells and times of its own are for callers that a signal can reach.
func unsupported(conn net.Conn, args []string) string {
	c, ok := conn.(oneAnswer)
	if !ok || c.OneAnswer() == "" {
		return ""
	}
	switch args[0] {
	case "ls", "-h", "--help", "--version", "--":
		return ""
	case "ps", "logs", "wait", "kill", "session":
		return "hostexec " + args[0] + " is not there over " + c.OneAnswer()
	}
	if strings.HasPrefix(args[0], "-") {
		return "options of hostexec, such as -d for a job, are not there over " + c.OneAnswer()
	}
	return ""
}

var done = wire.Exit{Outcome: wire.Exited}

func usageError(why string) end {
	return end{status: statusFailed, reason: why, hint: "see hostexec --help"}
}

func firstLine(s string) string { return s[:strings.IndexByte(s, '\n')+1] }

// print sends text to the caller's stdout, through the shim, and then e.
func (s *Server) print(p *peer, req *request, e wire.Exit, text []byte) error {
	if len(text) > 0 {
		if err := s.begin(p, req); err != nil {
			return err
		}
		if _, err := io.Copy(p.writer(wire.KindStdout), bytes.NewReader(text)); err != nil {
			return err
		}
	}
	return p.exit(e)
}

// begin has the shim take what is to be printed.
func (s *Server) begin(p *peer, req *request) error {
	req.close() // the shim writes to its own
	started := wire.Started{FDs: [3]wire.Disposition{wire.Null, wire.Pumped, wire.Pumped}, Request: req.ID}
	return p.send(wire.KindStarted, started.Append(nil))
}

// list renders what may be called.
func (s *Server) list(p *peer, sc *SessionState, req *request, args []string) error {
	switch {
	case len(args) == 0:
		return s.print(p, req, done, renderCommands(sc))
	case slices.Equal(args, []string{"--json"}):
		return s.print(p, req, done, renderCommandsJSON(sc))
	}
	return p.end(usageError("ls takes only --json"))
}

func renderCommands(sc *SessionState) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	list := commands(sc)
	elsewhere := slices.ContainsFunc(list, func(c command) bool { return c.Where != host })
	ruled := slices.ContainsFunc(list, func(c command) bool { return c.Call != c.Name })
	for _, c := range append([]command{{"COMMAND", "ACTION", "WHERE", "CALL"}}, list...) {
		fmt.Fprint(w, c.Name, "\t", c.Action)
		if elsewhere {
			fmt.Fprint(w, "\t", c.Where)
		}
		if ruled {
			fmt.Fprint(w, "\t", c.Call)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.Bytes()
}

type command struct {
	Name   string `json:"name"`
	Action string `json:"action"`
	Where  string `json:"where"`
	Call   string `json:"call"` // what to type, be there a program of that name in the container or not
}

var host = policy.Place{}.String()

// commands returns what may be called by name: what is proxied, in the order given, then
// what only has rules. Which of these a caller's arguments meet is for Decide to say.
func commands(sc *SessionState) []command {
	list := []command{} // [] in JSON, not null
	for _, c := range sc.Policy.Commands {
		list = append(list, command{c.Name, c.Action.String(), sc.Policy.Place(c.Name).String(), c.Name})
	}
	for _, name := range sc.Policy.Names() {
		i := slices.IndexFunc(list, func(c command) bool { return c.Name == name })
		ruled := len(sc.Policy.Rules[name].Rules) > 0
		switch c, _ := sc.Policy.Lookup(name); {
		case i < 0:
			list = append(list, command{name, "rules", sc.Policy.Place(name).String(), verbName + " " + name})
		case ruled && !c.Explicit && c.Action == policy.Allow:
			list[i].Action = "rules"
		}
	}
	if i := slices.IndexFunc(list, func(c command) bool { return c.Name == policy.Shell }); i >= 0 {
		list[i].Call = verbName + " session"
	}
	if sc.Policy.Broken != "" {
		for i := range list {
			list[i].Action = policy.Deny.String()
		}
	}
	return list
}

func renderCommandsJSON(sc *SessionState) []byte {
	b, err := json.MarshalIndent(commands(sc), "", "  ")
	if err != nil {
		panic("call: " + err.Error()) // strings always marshal
	}
	return append(names.ASCII(b), '\n')
}

// quoted shows s in printable ASCII, with quotes only where it is not that already.
func quoted(s string) string { return names.Printable(s) }

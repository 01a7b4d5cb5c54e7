// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// codeNo is what kill exits with for a job that is not there, or has ended.
const codeNo = 1

// job returns the job that ref names.
func (s *Server) job(ref string) (*job.Job, error) {
	if s.Jobs == nil {
		return nil, fmt.Errorf("%w: %s", job.ErrUnknown, names.Printable(Truncate(ref)))
	}
	kept, err := s.Jobs.Find(ref)
	var many job.Ambiguous
	switch {
	case errors.As(err, &many):
		return nil, fmt.Errorf("%s is the beginning of %d jobs' ids", names.Printable(Truncate(ref)), int(many))
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, names.Quoted(Truncate(ref)))
	}
	return kept, nil
}

// missing answers a verb whose job is not there.
func missing(err error) Failure {
	return Failure{Status: StatusFailed, Reason: err.Error(), Hint: "hostexec ps lists them"}
}

// logs shows what a job wrote, each stream to the caller's own.
func (s *Server) logs(ctx context.Context, p *peer, req *request, args []string) error {
	flags := newFlags()
	flags.SetInterspersed(true)
	follow := flags.BoolP("follow", "f", false, "")
	combined := flags.Bool("combined", false, "")
	raw := flags.Bool("raw", false, "")
	if err := flags.Parse(args); err != nil {
		return p.end(usageError("logs: " + names.Printable(err.Error())))
	}
	if flags.NArg() != 1 {
		return p.end(usageError("logs wants one job"))
	}
	kept, err := s.job(flags.Arg(0))
	if err != nil {
		return p.end(missing(err))
	}
	if err := s.begin(p, req); err != nil {
		return err
	}
	ctx, stop := p.interruptible(ctx)
	defer stop()
	out, errs := until{ctx, p.writer(wire.KindStdout)}, until{ctx, p.writer(wire.KindStderr)}
	switch {
	case *raw:
		err = kept.Copy(ctx, out, *follow)
	case *combined:
		err = kept.Copy(ctx, &job.Parser{Out: out, Err: out}, *follow)
	default:
		err = kept.Copy(ctx, &job.Parser{Out: out, Err: errs}, *follow)
	}
	var by *interrupted
	switch {
	case errors.As(context.Cause(ctx), &by):
		return p.exit(by.exit())
	case err != nil:
		return errors.Join(err, p.end(Failed("the log cannot be read")))
	}
	e := done
	if n := kept.Info().Dropped; n > 0 {
		e.Text = Line("%d bytes that it wrote later were not kept", n)
	}
	return p.exit(e)
}

// await returns when the jobs that args name have ended, and has the caller exit as the last
// one did.
func (s *Server) await(ctx context.Context, p *peer, args []string) error {
	list, wrong := s.each("wait", args)
	if wrong != nil {
		return p.end(*wrong)
	}
	code := 0
	for _, kept := range list {
		select {
		case <-kept.Done():
			code = kept.Info().Code
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return p.exit(wire.Exit{Outcome: wire.Exited, Code: byte(code)})
}

// each returns the jobs that args name, of which there have to be some.
func (s *Server) each(verb string, args []string) (list []*job.Job, wrong *Failure) {
	flags := newFlags()
	if err := flags.Parse(args); err != nil {
		return nil, new(usageError(verb + ": " + names.Printable(err.Error())))
	}
	if flags.NArg() == 0 {
		return nil, new(usageError(verb + " wants a job"))
	}
	for _, ref := range flags.Args() {
		kept, err := s.job(ref)
		if err != nil {
			return nil, new(missing(err))
		}
		list = append(list, kept)
	}
	return list, nil
}

// end ends the jobs and calls that its arguments name, or sends jobs a signal, and prints their ids.
func (s *Server) end(ctx context.Context, p *peer, req *request, args []string) error {
	flags := newFlags()
	flags.SetInterspersed(true)
	name := flags.StringP("signal", "s", "", "")
	all := flags.BoolP("all", "a", false, "")
	if err := flags.Parse(args); err != nil {
		return p.end(usageError("kill: " + names.Printable(err.Error())))
	}
	var sig executor.Signal
	if flags.Changed("signal") {
		var err error
		if sig, err = job.ParseSignal(*name); err != nil {
			return p.end(usageError(fmt.Sprintf("kill: %v: %s", err, names.Quoted(Truncate(*name)))))
		}
	}
	refs := flags.Args()
	switch {
	case *all && len(refs) > 0:
		return p.end(usageError("kill wants ids or --all, not both"))
	case *all:
		for _, kept := range s.jobs() {
			if info := kept.Info(); info.Status == job.Running {
				refs = append(refs, info.ID)
			}
		}
	case len(refs) == 0:
		return p.end(usageError("kill wants an id or --all"))
	case len(refs) > job.MaxRunning:
		return p.end(usageError(fmt.Sprintf("kill takes at most %d ids", job.MaxRunning)))
	}
	var said, complaints strings.Builder
	var reasons []string
	for id, err := range s.endEach(ctx, refs, sig) {
		if err == nil {
			fmt.Fprintln(&said, id)
		} else if !*all || !errors.Is(err, job.ErrEnded) {
			complaints.WriteString(killFailed(err))
			reasons = append(reasons, err.Error())
		}
	}
	e := done
	if text := complaints.String(); text != "" {
		e = Failure{Status: StatusFailed, Code: codeNo, Line: text, Reason: strings.Join(reasons, "; "), Hint: "hostexec ps lists them"}.frame(p.json)
	}
	return s.print(p, req, e, []byte(said.String()))
}

// killFailed tells why a job was not ended.
func killFailed(err error) string {
	if errors.Is(err, job.ErrUnknown) {
		return missing(err).text()
	}
	return Line("%v", err)
}

// jobs returns all jobs of the session.
func (s *Server) jobs() []*job.Job {
	if s.Jobs == nil {
		return nil
	}
	return s.Jobs.All()
}

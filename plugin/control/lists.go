// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// A container chooses the number of its calls and the length of their arguments. Lists therefore contain
// only the beginning of each text, so that they can show any number of calls. Each entry has a path that
// returns its complete texts.

const (
	maxListedFiles    = 10       // inputs of a grant
	maxListedText     = 256      // bytes per text of a list entry, except for arguments
	maxListedQuestion = 16 << 10 // size of a question up to which a list does not cut it
)

// Cut means that the texts of a list entry are cut. It holds the length of the command.
type Cut struct {
	Args  int `json:"args"`  // number of arguments
	Bytes int `json:"bytes"` // bytes of all arguments together
}

// String returns the mark that follows a cut command, or "" if c is nil.
func (c *Cut) String() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" ... (%d arguments, %d bytes)", c.Args, c.Bytes)
}

// shortener cuts the texts of one list entry.
type shortener struct{ cut bool }

func (s *shortener) args(args []string) []string {
	short, cut := names.TruncateArgs(args, names.MaxListed)
	if !cut {
		return args
	}
	s.cut = true
	return short
}

// names returns the arguments of q with the caller's words in place of copies, cut for a list, or nil if there are no
// copies. It removes the words from q, because their indices do not fit the cut arguments.
func (s *shortener) names(q *approval.Question) []string {
	named := shownNames(q)
	if q.Copied = nil; named != nil {
		named = s.args(named)
	}
	return named
}

func (s *shortener) text(text string) string {
	short := clip(text, maxListedText)
	s.cut = s.cut || short != text
	return short
}

// clip returns at most max bytes of text, with a mark if it was cut.
func clip(text string, max int) string {
	short, _ := names.TruncateArgs([]string{text}, max)
	return short[0]
}

func (s *shortener) mark(args []string) *Cut {
	if !s.cut {
		return nil
	}
	c := &Cut{Args: len(args)}
	for _, arg := range args {
		c.Bytes += len(arg)
	}
	return c
}

// ListedArgs returns args in the form for lists. The Cut is nil if nothing was cut.
func ListedArgs(args []string) ([]string, *Cut) {
	var s shortener
	short := s.args(args)
	return short, s.mark(args)
}

func (r Running) listed() Running {
	var s shortener
	whole := r.Args
	r.Args, r.Dir = s.args(r.Args), s.text(r.Dir)
	r.Cut = s.mark(whole)
	return r
}

func (l Leftover) listed() Leftover {
	var s shortener
	whole := l.Args
	l.Args = s.args(l.Args)
	l.Cut = s.mark(whole)
	return l
}

func (j Job) listed() Job {
	var s shortener
	whole := j.Args
	j.Args, j.Dir, j.Reason = s.args(j.Args), s.text(j.Dir), s.text(j.Reason)
	j.Cut = s.mark(whole)
	return j
}

// listed returns q unchanged if it is short. Otherwise it cuts the texts and removes the digest: a client
// must fetch the complete question before it can approve it.
func listed(q approval.Question) Question {
	n := len(q.Diff) + len(q.NoInputs)
	if q.Preview != nil {
		n += len(q.Preview.Output) + len(q.Preview.Problem)
	}
	if q.Inputs != nil {
		n += 128 * len(q.Inputs.Files)
	}
	for _, texts := range [][]string{q.Args, q.Notes, q.Effects, {q.Cwd, q.Dir, q.Path, q.Rule, q.Container, q.Project, q.Branch, q.Agent}} {
		for _, text := range texts {
			n += len(text) + 1
		}
	}
	if n <= maxListedQuestion {
		return shown(q)
	}
	q.Inputs, q.NoInputs, q.Diff, q.Preview = nil, "", "", nil
	s := shortener{cut: true}
	cut := s.mark(q.Args)
	named := s.names(&q)
	q.Args, q.Notes, q.Effects = s.args(q.Args), s.args(q.Notes), s.args(q.Effects)
	for _, text := range []*string{&q.Cwd, &q.Dir, &q.Path, &q.Rule, &q.Container, &q.Project, &q.Branch, &q.Agent} {
		*text = s.text(*text)
	}
	short := shown(q)
	short.Digest, short.Group, short.Vary, short.Cut, short.Named = "", "", nil, cut, named
	return short
}

// listed returns the status with cut texts.
func (st Status) listed() Status {
	st.Running = slices.Clone(st.Running)
	for i, r := range st.Running {
		st.Running[i] = r.listed()
	}
	st.Shells = slices.Clone(st.Shells)
	for i := range st.Shells {
		var s shortener
		st.Shells[i].Dir = s.text(st.Shells[i].Dir)
	}
	return st
}

// serveComplete adds the paths for single entries to mux.
func serveComplete(mux *http.ServeMux, s Session) {
	mux.HandleFunc("GET /calls/{id}", func(w http.ResponseWriter, r *http.Request) {
		all := s.Status().Running
		replyOne(w, all, func(c Running) bool { return c.Request == r.PathValue("id") }, func(c Running) any {
			c.Args, c.Dir = names.PrintableArgs(c.Args), names.Printable(c.Dir)
			return c
		}, ErrNotRunning)
	})
	mux.HandleFunc("GET /jobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		replyOne(w, s.Jobs(), func(i job.Info) bool { return i.ID == r.PathValue("id") }, func(i job.Info) any { return shownJob(i) }, job.ErrUnknown)
	})
	mux.HandleFunc("GET /left/{id}", func(w http.ResponseWriter, r *http.Request) {
		replyOne(w, s.Leftovers(), func(l Leftover) bool { return l.Request == r.PathValue("id") }, func(l Leftover) any {
			l.Args = names.PrintableArgs(l.Args)
			return l
		}, ErrNotRunning)
	})
	q := s.Queue()
	mux.HandleFunc("GET /pending/{id}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		is := func(q approval.Question) bool { return q.ID == id || slices.Contains(q.Waiting, id) }
		replyOne(w, q.Pending(), is, func(q approval.Question) any { return shown(q) }, approval.ErrUnknown)
	})
}

// replyOne sends the complete entry for which matches returns true, or the error notFound.
func replyOne[T any](w http.ResponseWriter, all []T, matches func(T) bool, show func(T) any, notFound error) {
	i := slices.IndexFunc(all, matches)
	if i < 0 {
		Reply(w, http.StatusNotFound, problem{notFound.Error()})
		return
	}
	Reply(w, http.StatusOK, show(all[i]))
}

// Question returns the question for which request id waits, with complete texts. The error is approval.ErrUnknown if it
// does not wait.
func (c *Client) Question(ctx context.Context, id string) (Question, error) {
	return get[Question](ctx, c, "/pending/"+url.PathEscape(id))
}

// Complete returns q with complete texts.
func (c *Client) Complete(ctx context.Context, q Question) (Question, error) {
	if q.Cut == nil {
		return q, nil
	}
	return c.Question(ctx, q.ID)
}

// Call returns one running call with complete texts, in printable ASCII.
func (c *Client) Call(ctx context.Context, id string) (Running, error) {
	return get[Running](ctx, c, "/calls/"+url.PathEscape(id))
}

// Job returns one job with complete texts.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	return get[Job](ctx, c, "/jobs/"+url.PathEscape(id))
}

// LeftoverOf returns the leftover processes of one request's command, with complete texts.
func (c *Client) LeftoverOf(ctx context.Context, id string) (Leftover, error) {
	return get[Leftover](ctx, c, "/left/"+url.PathEscape(id))
}

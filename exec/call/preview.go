// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/git"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// A preview runs before anybody has approved the command, and may run code of the container. So it runs in a sandbox
// that can write nothing and has no network, ends soon, and only a person sees its output. A session has one at a time.

// Limits of a preview.
const (
	previewTimeout  = 5 * time.Second
	maxPreviewLines = 200
	maxPreviewBytes = 16 << 10
	maxPreviewRead  = 64 << 10 // bytes that are kept; the rest is read and dropped
)

var (
	errPreviewTimeout     = fmt.Errorf("it was ended after %s", previewTimeout)
	errPreviewBusy        = errors.New("other previews of this session run")
	errPreviewDuplicate   = errors.New("the same question waited already")
	errPreviewInContainer = errors.New("the command runs in a container, and a preview runs on the host")
	errPreviewOfShells    = errors.New("commands of shells have none")
)

// previewRun is a preview that may run now. The zero value is none.
type previewRun struct {
	asking
	shown   *approval.Preview // of the question; Problem is set if it does not run
	command executor.Command
	endTurn func() // may be nil
}

// preparePreview prepares the preview that the rule of ask wants, if ask would be a new question. The caller closes it.
func (x asking) preparePreview(ctx context.Context, ask *approval.Question) (p previewRun) {
	if len(x.dc.v.Preview) == 0 {
		return p
	}
	p = previewRun{asking: x, shown: &approval.Preview{Added: x.dc.v.Preview}}
	ask.Preview = p.shown
	err := errPreviewDuplicate
	if x.server.Queue.Opens(*ask) {
		p.endTurn, err = x.server.previews.take(ctx, git.Changes)
		switch {
		case err != nil:
			err = errPreviewBusy
		case !x.server.Queue.Opens(*ask): // the preview of another call was shown meanwhile
			err = errPreviewDuplicate
		default:
			p.command, err = x.previewCommand(ctx)
		}
	}
	if err != nil {
		p.shown.Problem = names.Plain(err.Error())
	}
	return p
}

// previewCommand returns the command of a preview, in a sandbox that can write nothing. It gets no variables of the
// host that the rule passes to the command itself.
func (x asking) previewCommand(ctx context.Context) (executor.Command, error) {
	dc, v := x.dc, x.dc.v
	switch {
	case x.req.shell != nil:
		return executor.Command{}, errPreviewOfShells
	case v.Place.InContainer():
		return executor.Command{}, errPreviewInContainer
	case dc.config.SandboxFor == nil:
		return executor.Command{}, sandbox.ErrUnsupported
	}
	if err := sandbox.Supported(); err != nil {
		return executor.Command{}, err
	}
	v.Sandbox = policy.Sandbox{Read: v.Sandbox.Read, ReadOnly: true, Copies: dc.copiesDir()}
	v.Env.Pass = nil
	confined, host, err := dc.config.SandboxFor(ctx, &v, dc.config.Environ, nil)
	if err != nil {
		return executor.Command{}, err
	}
	env := environ(host, x.req.env, dc.config.PassEnv, v.Env, dc.cwd.Path())
	return executor.Command{ID: newID(), Path: v.Command.Path, Args: v.PreviewArgs(), Env: env, Dir: dc.cwd.FD(), Sandbox: confined}, nil
}

// recorded returns the added arguments if the preview runs, for the log.
func (p *previewRun) recorded() string {
	if p.shown == nil || p.shown.Problem != "" {
		return ""
	}
	return shellescape.QuoteCommand(p.shown.Added)
}

// run runs the preview until it ends, or ctx does. No process of it is left afterwards.
func (p *previewRun) run(ctx context.Context) {
	if p.shown == nil || p.shown.Problem != "" {
		return
	}
	now, end := context.WithCancelCause(context.Background())
	defer end(nil)
	// ends when ctx does, or when the preview has ended.
	defer context.AfterFunc(ctx, func() { end(atOnce{context.Cause(ctx)}) })()
	now, cancel := context.WithTimeoutCause(now, previewTimeout, atOnce{errPreviewTimeout})
	defer cancel()
	var out previewOutput
	st, err := p.server.Runner.Run(now, p.command, executor.Streams{FD: [3]int{-1, -1, -1}, Out: &out, SameOut: true})
	p.shown.Output = out.excerpt()
	switch {
	case err != nil:
		p.shown.Problem = names.Plain(err.Error())
	case st.Signal != "":
		p.shown.Problem = "SIG" + st.Signal + " ended it"
	case st.Code != 0:
		p.shown.Problem = fmt.Sprintf("exit status %d", st.Code)
	}
}

// close lets another preview of the session run. A second call does nothing.
func (p *previewRun) close() {
	p.command.Sandbox.Close()
	p.command.Sandbox = nil
	if p.endTurn != nil {
		p.endTurn()
	}
}

// atOnce is the cause of the end of processes that get no time to end by themselves.
type atOnce struct{ error }

func (atOnce) Grace() time.Duration { return 0 }

func (a atOnce) Unwrap() error { return a.error }

// previewOutput keeps the beginning of what is written to it.
type previewOutput struct {
	mu   sync.Mutex // guards the fields below
	kept strings.Builder
	more int // further lines
}

func (o *previewOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(p), maxPreviewRead-o.kept.Len())
	o.kept.Write(p[:n])
	o.more += strings.Count(string(p[n:]), "\n")
	return len(p), nil
}

func (o *previewOutput) excerpt() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return names.Excerpt(o.kept.String(), maxPreviewLines, maxPreviewBytes, o.more)
}

// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"io"
	"time"

	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// view shows a caller the output and the end of its text.
type view interface {
	Out() io.Writer
	Err() io.Writer
	Started(request string, pid int)
	Fallback() []byte           // the beginning of the answer of a caller that loses its host, or nil
	Ended(code int, why string) // why is "" if it ended by itself
	Close() error
}

func (r *shellRun) view() (view, error) {
	report := shell.Report{To: r.x.peer.writer(wire.KindStdout), Command: r.c.Text, Since: r.since}
	switch {
	case !r.o.JSON:
		return plainView{r}, nil
	case r.o.Start:
		return report.Events(), nil
	}
	return report.Object(r.x.server.Shells.Spool)
}

// plainView passes the output on unchanged.
type plainView struct{ *shellRun }

func (v plainView) Out() io.Writer    { return v.x.peer.writer(wire.KindStdout) }
func (v plainView) Err() io.Writer    { return v.x.peer.writer(wire.KindStderr) }
func (v plainView) Ended(int, string) {}
func (v plainView) Fallback() []byte  { return nil }
func (v plainView) Close() error      { return nil }

func (v plainView) Started(request string, pid int) {
	if v.o.Start {
		fmt.Fprintf(v.Err(), "hostexec: request %s, pid %d\n", request, pid)
	}
}

// ReportText makes the caller get a report in JSON if it wants one for the text of r, and the call fails before the text
// starts. Programs read this report, not the messages.
func (c *VerbCall) ReportText(r ShellRequest) {
	x, since := c.x, time.Now()
	x.peer.notRun = nil
	if !r.JSON {
		return
	}
	x.peer.notRun = func(e Failure) {
		x.peer.notRun = nil
		if x.begin() == nil {
			report := shell.Report{To: x.peer.writer(wire.KindStdout), Command: r.Text, Since: since}
			report.NotRun(r.Start, int(e.exit()), e.Reason)
		}
	}
}

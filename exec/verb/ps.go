// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// row is one line of ps: a call that runs, a job, or the processes that one of them has left.
type row struct {
	ID      string     `json:"id"`
	Kind    string     `json:"kind"` // call, job or left
	Status  job.Status `json:"status"`
	Code    *int       `json:"exit_code"` // null while it runs
	Args    []string   `json:"args"`      // the beginning of them, if they are long
	PID     int        `json:"pid"`       // on the host
	Started time.Time  `json:"started"`
	Seconds float64    `json:"seconds"`
	Reason  string     `json:"reason,omitempty"`
	Keep    bool       `json:"keep,omitempty"` // it may outlive the container
}

// rows returns the running calls, all jobs, and the processes that either has left, oldest first.
func rows(c *call.VerbCall) []row {
	list := []row{} // [] in JSON, not null
	seen := map[string]bool{}
	now := time.Now()
	for _, j := range c.Jobs() {
		info := j.Info()
		seen[info.ID] = true
		r := row{ID: info.ID, Kind: "job", Status: info.Status, Args: listed(info.Args), PID: info.PID, Started: info.Started, Reason: info.Reason, Keep: info.Keep}
		if info.Status != job.Running {
			r.Code, r.Seconds = &info.Code, info.Ended.Sub(info.Started).Seconds()
		} else {
			r.Seconds = now.Sub(info.Started).Seconds()
		}
		list = append(list, r)
	}
	for _, r := range c.Running() {
		if !seen[r.Request] {
			list = append(list, row{ID: r.Request, Kind: "call", Status: job.Running, Args: listed(r.Args), PID: r.PID, Started: r.Since, Seconds: now.Sub(r.Since).Seconds()})
		}
	}
	for _, l := range c.Leftovers() {
		r := leftRow(l)
		r.Seconds = now.Sub(r.Started).Seconds()
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b row) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID)) })
	return list
}

// KindLeftover is the kind of the row for processes that an ended command has left.
const KindLeftover = "left"

// leftRow returns the row for processes that a call or a job has left.
func leftRow(l proctree.Leftover) row {
	return row{ID: l.ID, Kind: KindLeftover, Status: job.Running, Args: listed(l.Args), PID: l.PID, Started: l.Since}
}

// listed returns the beginning of args, for a list.
func listed(args []string) []string {
	short, _ := names.TruncateArgs(args, names.MaxListed)
	return short
}

// ps lists running calls, all jobs, and the processes that they have left.
func ps(c *call.VerbCall, args []string) error {
	flags := newFlags("ps")
	asJSON := flags.Bool("json", false, "")
	if ok, err := flags.parse(c, args); !ok {
		return err
	}
	if flags.NArg() > 0 {
		return flags.failArguments(c, "takes only --json")
	}
	if *asJSON {
		return printJSON(c, rows(c))
	}
	return c.Print(renderRows(rows(c)))
}

func renderRows(rows []row) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "REQUEST\tKIND\tSTATUS\tEXIT\tTIME\tCOMMAND")
	for _, r := range rows {
		code := "-"
		if r.Code != nil {
			code = strconv.Itoa(*r.Code)
		}
		took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Second)
		kind := r.Kind
		if r.Keep {
			kind += ", kept"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, kind, r.Status, code, took, names.Printable(shellescape.QuoteCommand(r.Args)))
	}
	w.Flush()
	return b.Bytes()
}

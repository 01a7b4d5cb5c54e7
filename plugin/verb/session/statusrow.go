// SPDX-License-Identifier: Apache-2.0

package session

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/docker/cli/cli/command/formatter"
	"github.com/docker/go-units"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
)

// The tables usually fit a terminal of 120 columns, or of 80.
const (
	statusTable  = "table {{.ID}}\t{{.Container}}\t{{.Image}}\t{{.Commands}}\t{{.Carrier}}\t{{.State}}\t{{.Warned}}\t{{.Calls}}\t{{.Since}}"
	narrowStatus = "table {{.ID}}\t{{.Container}}\t{{.Commands}}\t{{.State}}\t{{.Calls}}\t{{.Since}}"
	wide         = 120 // columns for the first table
)

func writeStatus(w io.Writer, sessions []sessions.Session, opts statusOptions, now time.Time) error {
	table := statusTable
	if opts.width > 0 && opts.width < wide {
		table = narrowStatus
	}
	rows := make([]*statusRow, len(sessions))
	for i, s := range sessions {
		rows[i] = newStatusRow()
		rows[i].s, rows[i].trunc, rows[i].now = s, !opts.noTrunc, now
	}
	return cli.WriteRows(formatter.Context{Output: w, Format: cli.ListFormat(opts.quiet, opts.format, table), Trunc: !opts.noTrunc}, newStatusRow(), rows)
}

// statusRow is one session for templates.
type statusRow struct {
	formatter.HeaderContext
	s     sessions.Session
	trunc bool
	now   time.Time
}

func newStatusRow() *statusRow {
	r := &statusRow{}
	r.Header = formatter.SubHeaderContext{
		"ID": "SESSION", "Container": "CONTAINER", "ContainerID": "CONTAINER ID", "Image": "IMAGE",
		"Commands": "COMMANDS", "Carrier": "CARRIER", "CarrierWhy": "CARRIER IS KNOWN BY", "State": "STATE", "Warned": "WARNINGS", "Warnings": "WARNINGS", "Calls": "CALLS",
		"Running": "RUNNING", "Shells": "SHELLS", "Since": "SINCE", "Version": "VERSION",
	}
	return r
}

func (r *statusRow) MarshalJSON() ([]byte, error) { return formatter.MarshalJSON(r) }

func (r *statusRow) ID() string { return r.s.ID }

// Container returns the container's name, or the directory for requests of a session without one.
func (r *statusRow) Container() string {
	if p := r.s.Proxy; p != nil {
		return names.Printable(filepath.Join(p.Base, p.RelativePath))
	}
	return names.Printable(r.s.ContainerName)
}

func (r *statusRow) ContainerID() string {
	if r.trunc {
		return r.s.Container[:min(len(r.s.Container), 12)]
	}
	return r.s.Container
}

func (r *statusRow) Image() string {
	return r.ellipsis(names.Printable(r.s.Image), 16)
}

// Carrier returns how calls arrive now. The record only has the value of --carrier.
func (r *statusRow) Carrier() string {
	if r.s.Watcher != nil {
		return r.s.Watcher.Carrier
	}
	return "-"
}

// CarrierWhy returns how the carrier was determined.
func (r *statusRow) CarrierWhy() string {
	if r.s.Watcher != nil {
		return r.s.Watcher.CarrierWhy
	}
	return ""
}

func (r *statusRow) State() string { return r.s.State }

// Warnings returns why the session is dangerous.
func (r *statusRow) Warnings() []string { return r.s.Warnings }

// Warned returns the number of warnings; inspect shows them.
func (r *statusRow) Warned() string {
	if n := len(r.s.Warnings); n > 0 {
		return strconv.Itoa(n)
	}
	return "-"
}

// Commands returns the names of the commands, with their actions except for allow.
func (r *statusRow) Commands() string {
	var all []string
	for _, c := range r.s.Commands {
		if c.Action == "allow" {
			all = append(all, c.Name)
		} else {
			all = append(all, c.Name+"="+c.Action)
		}
	}
	return r.ellipsis(strings.Join(all, ","), 16)
}

// Calls returns the number of started commands while there is a watcher.
func (r *statusRow) Calls() string {
	if r.s.Watcher == nil {
		return "-"
	}
	return strconv.Itoa(r.s.Watcher.Calls)
}

func (r *statusRow) Running() string {
	if r.s.Watcher == nil {
		return "-"
	}
	return strconv.Itoa(len(r.s.Watcher.Running))
}

// Shells returns the names of the shells with state.
func (r *statusRow) Shells() string {
	if r.s.Watcher == nil || len(r.s.Watcher.Shells) == 0 {
		return "-"
	}
	var all []string
	for _, i := range r.s.Watcher.Shells {
		all = append(all, i.Name)
	}
	return r.ellipsis(strings.Join(all, ","), 30)
}

func (r *statusRow) Since() string {
	since := r.s.Created
	if r.s.Watcher != nil {
		since = r.s.Watcher.Since
	}
	return units.HumanDuration(r.now.Sub(since)) + " ago"
}

func (r *statusRow) Version() string {
	if r.s.Watcher != nil {
		return r.s.Watcher.Version
	}
	return r.s.Session.Version
}

func (r *statusRow) ellipsis(text string, n int) string {
	if r.trunc {
		return cli.Ellipsis(text, n)
	}
	return text
}

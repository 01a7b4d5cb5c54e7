// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
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
		rows[i] = newStatusRow(s, !opts.noTrunc, now)
	}
	return cli.WriteRows(formatter.Context{Output: w, Format: cli.ListFormat(opts.quiet, opts.format, table), Trunc: !opts.noTrunc}, rows)
}

// statusRow is one session for templates.
type statusRow struct {
	cli.Row
	ID          string `header:"SESSION"`
	Container   string // its name, or the directory for requests of a session without one
	ContainerID string `header:"CONTAINER ID"`
	Image       string
	Commands    string   // the names, with the actions except for allow
	Carrier     string   // how calls arrive now; the record only has the value of --carrier
	CarrierWhy  string   `header:"CARRIER IS KNOWN BY"`
	State       string   // of the container and the watcher
	Warned      string   `header:"WARNINGS"` // the number of warnings; inspect shows them
	Warnings    []string // why the session is dangerous
	Calls       string   // the number of started commands while there is a watcher
	Running     string
	Shells      string // the names of the shells with state
	Since       string
	Version     string
}

func (r statusRow) MarshalJSON() ([]byte, error) { return cli.MarshalRow(r) }

func newStatusRow(s sessions.Session, trunc bool, now time.Time) *statusRow {
	r := &statusRow{
		ID: s.ID, Container: names.Printable(s.ContainerName), ContainerID: s.Container, Image: names.Printable(s.Image), Carrier: "-", State: s.State,
		Warned: "-", Warnings: s.Warnings, Calls: "-", Running: "-", Shells: "-", Version: s.Session.Version,
	}
	if p := s.Proxy; p != nil {
		r.Container = names.Printable(filepath.Join(p.Base, p.RelativePath))
	}
	if n := len(s.Warnings); n > 0 {
		r.Warned = strconv.Itoa(n)
	}
	var commands []string
	for _, c := range s.Commands {
		if c.Action != "allow" {
			c.Name += "=" + c.Action
		}
		commands = append(commands, c.Name)
	}
	r.Commands = strings.Join(commands, ",")
	since := s.Created
	if w := s.Watcher; w != nil {
		since = w.Since
		r.Carrier, r.CarrierWhy, r.Version = w.Carrier, w.CarrierWhy, w.Version
		r.Calls, r.Running = strconv.Itoa(w.Calls), strconv.Itoa(len(w.Running))
		var shells []string
		for _, i := range w.Shells {
			shells = append(shells, i.Name)
		}
		r.Shells = cmp.Or(strings.Join(shells, ","), "-")
	}
	r.Since = units.HumanDuration(now.Sub(since)) + " ago"
	if trunc {
		r.ContainerID = s.Container[:min(len(s.Container), 12)]
		r.Image, r.Commands, r.Shells = cli.Ellipsis(r.Image, 16), cli.Ellipsis(r.Commands, 16), cli.Ellipsis(r.Shells, 30)
	}
	return r
}

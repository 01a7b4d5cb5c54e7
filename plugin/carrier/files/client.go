// SPDX-License-Identifier: Apache-2.0

package files

import (
	_ "embed" // the client
	"strings"

	"al.essio.dev/pkg/shellescape"
)

//go:embed client.sh
var clientText string

// Client is the configuration of a client of the files carrier.
type Client struct {
	Command string   // empty: the name by which the client is called
	Dir     string   // of requests; if Command is empty, each command has a directory below it
	Pass    []string // variables that it passes on, beyond those of the terminal
	Served  string   // a file that exists while calls are answered; empty: none
}

// Script returns the client as a program for a POSIX shell.
func (c Client) Script() []byte {
	dir := shellescape.Quote(c.Dir)
	if c.Command == "" {
		dir = `"` + c.Dir + `/$cmd"` // chosen by hostexec, so that it needs no quotes
	}
	served := ""
	if c.Served != "" {
		served = `[ -e ` + shellescape.Quote(c.Served) + ` ] || die 125 "calls are not answered now: type docker hostexec resume on the host"`
	}
	return []byte(strings.NewReplacer(
		"@CMD@", shellescape.Quote(c.Command), "@DIR@", dir, "@PASS@", strings.Join(c.Pass, " "), "@SERVED@", served,
	).Replace(clientText))
}

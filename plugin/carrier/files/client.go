// SPDX-License-Identifier: Apache-2.0

package files

import (
	_ "embed" // the client
	"strings"

	"al.essio.dev/pkg/shellescape"
)

//go:embed client.sh
var clientText string

// Client is what a client of the files carrier is to know.
type Client struct {
	Command string   // empty: the name it is called by
	Dir     string   // of requests; those of each command, if Command is empty, are in one below it
	Pass    []string // variables that it passes on, beyond those of the terminal
	Served  string   // a file that is there as long as somebody answers; empty: none
}

// Script returns the client as a program for a POSIX shell.
func (c Client) Script() []byte {
	dir := shellescape.Quote(c.Dir)
	if c.Command == "" {
		dir = `"` + c.Dir + `/$cmd"` // of ours, without anything to quote
	}
	served := ""
	if c.Served != "" {
		served = `[ -e ` + shellescape.Quote(c.Served) + ` ] || die 125 "nobody answers on the host: docker hostexec resume there has calls answered again"`
	}
	return []byte(strings.NewReplacer(
		"@CMD@", shellescape.Quote(c.Command), "@DIR@", dir, "@PASS@", strings.Join(c.Pass, " "), "@SERVED@", served,
	).Replace(clientText))
}

// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Limits of what is shown of a repository's remotes.
const (
	maxRemotes     = 8
	maxRemotesText = 64 << 10
	maxRemotesTime = 2 * time.Second
)

// Remotes returns notes for the person who decides: the address of the remote that the command contacts, or of
// all remotes if it names none. It returns nil for commands that contact none. The repository may be a
// container's: git reads its configuration, but starts no program, and gets no option of the command.
func (c *Check) Remotes(ctx context.Context) []string {
	line, ok := parse(c.Args, c.Host)
	if !ok && slices.ContainsFunc(c.Args, network) {
		return []string{"its remote is not shown: hostexec does not know the options before git's command"}
	}
	if !ok || !network(line.verb) || line.verb == "remote" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxRemotesTime)
	defer cancel()
	bare := commandLine{name: line.name}
	list, err := c.ask(ctx, bare, c.Dir, maxRemotesText, "remote", "--verbose")
	if err != nil {
		return []string{"its remote is not known: " + names.Plain(err.Error())}
	}
	notes := line.remotes(string(list))
	if len(line.options) > 0 {
		notes = append(notes, "the options before "+line.verb+" may change the remote")
	}
	return notes
}

// remotes returns a note for each remote of l in the output of git remote --verbose.
func (l commandLine) remotes(list string) (notes []string) {
	use := " (fetch)"
	if l.verb == "push" {
		use = " (push)"
	}
	var all, named []string
	for text := range strings.Lines(list) {
		name, rest, _ := strings.Cut(text, "\t")
		i := strings.LastIndex(rest, use)
		if i < 0 {
			continue
		}
		note := fmt.Sprintf("remote %s is %s", names.Quoted(name), names.Quoted(withoutPassword(rest[:i])))
		all = append(all, note)
		if slices.Contains(l.rest, name) {
			named = append(named, note)
		}
	}
	if len(named) > 0 {
		all = named
	}
	switch n := len(all) - maxRemotes; {
	case len(all) == 0:
		return []string{"the repository has no remote"}
	case n > 0:
		return append(all[:maxRemotes], fmt.Sprintf("there are %d more remotes", n))
	}
	return all
}

var password = regexp.MustCompile(`(://[^/@:]*):[^/@]*@`)

// withoutPassword returns address without the password of a user in it.
func withoutPassword(address string) string { return password.ReplaceAllString(address, "$1:***@") }

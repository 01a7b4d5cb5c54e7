// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Limits of what is shown of a repository's remotes.
const (
	maxRemotes     = 8
	maxRemotesText = 64 << 10
	maxRemotesTime = 2 * time.Second
)

// Remotes returns notes about a fetch, pull, push or ls-remote for the person who decides: the address of its remote,
// or of all remotes if it names none. It returns nil for other commands, unless it cannot tell which command it is. The
// repository may be a container's: git reads its configuration, but starts no program, and gets no option of the
// command.
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
	notes, err := c.remotes(ctx, line)
	if err != nil {
		return []string{"its remote is not known: " + names.Plain(err.Error())}
	}
	if len(line.options) > 0 {
		notes = append(notes, "the options before "+line.verb+" may change the remote")
	}
	return notes
}

// harmlessOptions are for a git that reads the configuration of a container before a person has answered. The verbs
// that it runs start no program anyway.
var harmlessOptions = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}

var errAddress = errors.New("an address in its configuration has a line break or another control character")

// remotes returns the notes about the remotes of line. Git itself has to change the addresses (url.*.insteadOf).
// Addresses without a remote are given to it as remotes with names that the configuration cannot have.
func (c *Check) remotes(ctx context.Context, line commandLine) ([]string, error) {
	bare := commandLine{name: line.name, options: harmlessOptions}
	list, err := c.ask(ctx, bare, c.Dir, maxConfig, configList...)
	if err != nil {
		return nil, err
	}
	cfg, err := parseConfig(list)
	if err != nil {
		return nil, err
	}
	for _, e := range cfg.entries {
		if section, _, _ := split(e.key); (section == "remote" || section == "url") && strings.ContainsFunc(e.key+e.value, unicode.IsControl) {
			return nil, errAddress
		}
	}
	others, mark := line.otherAddresses(cfg), names.RandomHex(8)
	bare.options = slices.Clone(bare.options)
	for i, address := range others {
		bare.options = append(bare.options, "-c", fmt.Sprintf("remote.%s%d.url=%s", mark, i, address))
	}
	if list, err = c.ask(ctx, bare, c.Dir, maxRemotesText, "remote", "--verbose"); err != nil {
		return nil, err
	}
	all, err := parseRemotes(string(list))
	if err != nil {
		return nil, err
	}
	return line.notes(all, mark, others), nil
}

// otherAddresses returns the words that git may take for the address of a remote, although no remote has this name.
// They are positional arguments, and settings that replace these.
func (l commandLine) otherAddresses(cfg *config) (list []string) {
	remotes := cfg.remotes()
	add := func(word string) {
		if word != "" && word != "." && !remotes[word] && !slices.Contains(list, word) && len(list) < maxRemotes {
			list = append(list, word)
		}
	}
	for _, word := range l.rest {
		if address, ok := strings.CutPrefix(word, "--repo="); ok {
			add(address)
		} else if !strings.HasPrefix(word, "-") {
			add(word)
		}
	}
	for _, e := range cfg.entries {
		switch pattern(e.key) {
		case "branch.*.remote", "branch.*.pushremote", "remote.pushdefault":
			add(e.value)
		}
	}
	return list
}

// remoteAddress is an address of a remote, to which git pushes or from which it fetches.
type remoteAddress struct {
	name, address string
	push          bool
}

// parseRemotes parses the output of git remote --verbose: for each remote a line for fetch, and then those for push. It
// accepts nothing else, because an address with a line break could look like another one.
func parseRemotes(list string) (all []remoteAddress, err error) {
	seen := map[string]bool{}
	for text := range strings.Lines(list) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\t")
		if i := strings.LastIndex(rest, " ["); i >= 0 && strings.HasSuffix(rest, "]") { // the filter of a partial clone
			rest = rest[:i]
		}
		address, fetch := strings.CutSuffix(rest, " (fetch)")
		address, push := strings.CutSuffix(address, " (push)")
		last := remoteAddress{push: true}
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		if fetch == push || fetch && (seen[name] || !last.push) || push && last.name != name {
			return nil, errAddress
		}
		seen[name] = true
		all = append(all, remoteAddress{name, address, push})
	}
	return all, nil
}

// notes returns the notes about all. Those about others, whose names begin with mark, come first.
func (l commandLine) notes(all []remoteAddress, mark string, others []string) (notes []string) {
	var rest, named []string
	for _, r := range all {
		if r.push != (l.verb == "push") {
			continue
		}
		if n, ok := strings.CutPrefix(r.name, mark); ok {
			if i, err := strconv.Atoi(n); err == nil && i < len(others) && r.address != others[i] {
				notes = append(notes, fmt.Sprintf("git reads %s as %s", names.Quoted(withoutPassword(others[i])), names.Quoted(withoutPassword(r.address))))
			}
			continue
		}
		note := fmt.Sprintf("remote %s is %s", names.Quoted(r.name), names.Quoted(withoutPassword(r.address)))
		rest = append(rest, note)
		if slices.Contains(l.rest, r.name) {
			named = append(named, note)
		}
	}
	if len(named) > 0 {
		rest = named
	}
	for _, word := range l.unknownRemotes(all, others) {
		notes = append(notes, names.Quoted(withoutPassword(word))+" is no remote of the configuration: git may take it for an address")
	}
	switch n := len(rest) - maxRemotes; {
	case len(rest) == 0:
		return append(notes, "the repository has no remote")
	case n > 0:
		rest = append(rest[:maxRemotes], fmt.Sprintf("there are %d more remotes", n))
	}
	return append(notes, rest...)
}

// unknownRemotes returns the words of others that git may take for the remote: the first positional argument is the
// remote, and settings count only if there is none.
func (l commandLine) unknownRemotes(all []remoteAddress, others []string) (list []string) {
	known := func(word string) bool {
		return slices.ContainsFunc(all, func(r remoteAddress) bool { return r.name == word })
	}
	first := slices.IndexFunc(l.rest, known)
	for _, word := range others {
		i := slices.IndexFunc(l.rest, func(w string) bool { return w == word || w == "--repo="+word })
		if first < 0 || i >= 0 && i < first {
			list = append(list, word)
		}
	}
	return list
}

var (
	password = regexp.MustCompile(`(://[^/@:]*):[^/]*@`)
	webToken = regexp.MustCompile(`(https?://)[^/@:]{20,}@`)
)

// withoutPassword returns address without the password of a user in it, or a token in place of a user.
func withoutPassword(address string) string {
	return webToken.ReplaceAllString(password.ReplaceAllString(address, "$1:***@"), "$1***@")
}

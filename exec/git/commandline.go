// SPDX-License-Identifier: Apache-2.0

package git

import (
	"slices"
	"strings"
	"sync"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// commandLine is a git command: git OPTIONS VERB REST.
type commandLine struct {
	name    string // argv[0]
	options []string
	set     map[string]bool // configuration keys set by -c, in canonical form
	verb    string
	rest    []string
}

// Options that are accepted before the verb. All others, such as --paginate, are unknown.
var (
	plainOptions = names.WordSet(`--no-pager -P --no-replace-objects --no-optional-locks --no-advice --no-lazy-fetch --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs`)
	valueOptions = names.WordSet(`-c --attr-source --config-env --namespace`)
	hostOptions  = names.WordSet(`--git-dir --work-tree`) // only if the host names the repository
)

// parse parses args. It reports false if an option before the verb is unknown.
func parse(args []string, host bool) (commandLine, bool) {
	if len(args) == 0 {
		return commandLine{}, false
	}
	l := commandLine{name: args[0], set: map[string]bool{}}
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		name, _, joined := strings.Cut(rest[0], "=")
		n, valued := 1, valueOptions(name) || host && hostOptions(name)
		switch {
		case plainOptions(rest[0]):
		case valued && joined && name != "-c":
		case valued && !joined && len(rest) > 1:
			n = 2
		default:
			return l, false
		}
		if rest[0] == "-c" {
			key, _, _ := strings.Cut(rest[1], "=")
			l.set[canonical(key)] = true
		}
		l.options, rest = append(l.options, rest[:n]...), rest[n:]
	}
	if len(rest) == 0 {
		return l, false
	}
	l.verb, l.rest = rest[0], rest[1:]
	return l, true
}

// with returns the arguments of another subcommand with the same options. The subcommand starts no
// pager.
func (l commandLine) with(args ...string) []string {
	return append(append([]string{l.name, "--no-pager", "--no-optional-locks"}, l.options...), args...)
}

// reach is the set of repositories that a command may enter besides its own.
type reach int

const (
	anywhere reach = iota // any directory of the work tree that contains a repository
	tracked               // submodules in the index
	own                   // none
)

// verbReach maps known verbs to their reach. All of them are built into git, so that no alias
// replaces them.
var verbReach = sync.OnceValue(func() map[string]reach {
	all := map[string]reach{}
	for r, verbs := range map[reach]string{
		own: `blame branch cat-file check-attr check-ignore check-ref-format config count-objects for-each-ref get-tar-commit-id
			hash-object ls-tree merge-base name-rev rev-list rev-parse shortlog show-ref symbolic-ref tag var verify-commit verify-tag version`,
		tracked: `add commit describe diff diff-files diff-index diff-tree fetch grep log ls-files push reflog remote show status update-index`,
	} {
		for v := range strings.FieldsSeq(verbs) {
			all[v] = r
		}
	}
	return all
})

func (l commandLine) reach(cfg *config) reach {
	r := verbReach()[l.verb]
	opts := l.rest
	if i := slices.Index(opts, "--"); i >= 0 {
		opts = opts[:i]
	}
	switch l.verb {
	case "branch", "grep", "ls-files":
		if cfg.isTrue("submodule.recurse") || slices.ContainsFunc(opts, abbreviates("--recurse-submodules")) {
			return anywhere // includes submodules of other commits
		}
	case "status", "diff", "diff-files", "diff-index", "diff-tree", "log", "reflog", "show":
		// Git does not ignore a submodule that becomes a file, or was one.
		if showsDifferences(l.verb, opts) && showsSubmoduleContent(cfg, opts) {
			return anywhere
		}
		if onlyValues(opts, "--ignore-submodules", "--ignore-submodules=all", "--ignore-submodules") {
			return own
		}
	case "fetch", "push":
		if onlyValues(opts, "--recurse-submodules", "--recurse-submodules=no", "--no-recurse-submodules") {
			return own
		}
		return anywhere // includes submodules of the transferred commits
	case "remote":
		if len(l.rest) == 0 || slices.Equal(l.rest, []string{"-v"}) || l.rest[0] == "get-url" {
			return own
		}
		return anywhere
	}
	if r == tracked && (showsSubmoduleContent(cfg, opts) || cfg.isTrue("status.submodulesummary")) {
		return anywhere
	}
	return r
}

// showsSubmoduleContent reports whether git shows more of a submodule's difference than its commits. Git then
// runs in submodules, also in those that are not in the index.
func showsSubmoduleContent(cfg *config, opts []string) bool {
	return cfg.diffsSubmodules() || slices.ContainsFunc(opts, abbreviates("--submodule"))
}

func showsDifferences(verb string, opts []string) bool {
	return verb != "status" || slices.ContainsFunc(opts, func(o string) bool {
		return abbreviates("--verbose")(o) || strings.HasPrefix(o, "-") && !strings.HasPrefix(o, "--") && strings.Contains(o, "v")
	})
}

// onlyValues reports whether opts set the option name, but only by values. Git accepts abbreviations of
// name.
func onlyValues(opts []string, name string, values ...string) bool {
	there := false
	for _, o := range opts {
		switch {
		case slices.Contains(values, o):
			there = true
		case abbreviates(name)(o), abbreviates("--no" + name[1:])(o):
			return false
		}
	}
	return there
}

// abbreviates returns a function that reports whether git may accept an argument as option.
func abbreviates(option string) func(arg string) bool {
	return func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return len(name) > 2 && strings.HasPrefix(option, name)
	}
}

// readers lists verbs that write nothing except the index. The verbs in listers write nothing else
// either, if they have no positional arguments.
var (
	readers = names.WordSet(`blame cat-file check-attr check-ignore check-ref-format count-objects describe diff diff-files diff-index diff-tree
		for-each-ref grep log ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-ref status var version`)
	listers = names.WordSet(`branch reflog remote tag`)
)

// reads reports whether the command writes no reference.
func (l commandLine) reads() bool {
	return readers(l.verb) || listers(l.verb) && !slices.ContainsFunc(l.rest, func(a string) bool { return !strings.HasPrefix(a, "-") })
}

// network lists the verbs that contact a remote.
var network = names.WordSet("fetch ls-remote pull push remote")

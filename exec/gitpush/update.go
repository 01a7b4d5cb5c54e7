// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"errors"
	"fmt"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Kind is the operation of an update. The kinds are operations of policy.GitPush.
type Kind string

const (
	Push      Kind = "push" // new commits on a branch, or a new branch
	Force     Kind = "force"
	Delete    Kind = "delete"
	Tag       Kind = "tag"
	ForceTag  Kind = "force-tag"
	DeleteTag Kind = "delete-tag"
)

// Update is one change of a remote that a container requests.
type Update struct {
	Remote   Remote
	Kind     Kind
	Name     string   // of the branch or tag, without refs/heads/ or refs/tags/
	Ref      string   // its full name
	Old, New string   // ids; zeros: there is no such ref
	Args     []string // of the host's git push that does exactly this update, with argv[0]
	Notes    []string // what a person should know before the decision
}

const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
)

// command is one update as the container's git sends it.
type command struct{ old, new, ref string }

var (
	errRef     = errors.New("hostexec: only branches and tags can be pushed")
	errRefName = errors.New("hostexec: not a name of printable ASCII that git permits")
	errStale   = errors.New("fetch first")
)

// sha1ID and sha256ID are the forms of an id in the two formats.
var (
	sha1ID   = names.Form{Chars: "0-9a-f", Min: 40, Max: 40}
	sha256ID = names.Form{Chars: "0-9a-f", Min: 64, Max: 64}
)

// parseCommand parses OLD NEW REF.
func parseCommand(line, hash string) (c command, err error) {
	id := sha1ID
	if hash == "sha256" {
		id = sha256ID
	}
	words := strings.SplitN(line, " ", 3)
	if len(words) != 3 || !id.Matches(words[0]) || !id.Matches(words[1]) || words[2] == "" || len(words[2]) > maxRefName || strings.ContainsAny(words[2], "\x00\n") {
		return c, errPkt
	}
	return command{words[0], words[1], words[2]}, nil
}

// maxRefName limits the full name of a ref, in bytes.
const maxRefName = 255

// refName returns the short name of a branch or tag. It permits less than git-check-ref-format(1): the
// name is an argument of git, a part of a question, and a word for rules.
func refName(ref string) (name string, tag bool, err error) {
	name, branch := strings.CutPrefix(ref, branches)
	if !branch {
		if name, tag = strings.CutPrefix(ref, tags); !tag {
			return "", false, errRef
		}
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("~^:?*[\\", r) }) ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasPrefix(name, "-") || name == "@" || name == "HEAD" {
		return "", tag, errRefName
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return "", tag, errRefName
		}
	}
	return name, tag, nil
}

// update returns the change that c makes to the mirror's remote. It does not compare commits: the Kind is Force for
// each branch that exists and moves.
func (m *mirror) update(r Remote, c command) (u Update, err error) {
	u = Update{Remote: r, Ref: c.ref, Old: c.old, New: c.new}
	name, tag, err := refName(c.ref)
	if err != nil {
		return u, err
	}
	u.Name = name
	now, exists := m.byName[c.ref]
	switch {
	case !exists && c.old != m.zero(), exists && c.old != now:
		return u, errStale
	case !exists && c.new == m.zero():
		return u, errors.New("hostexec: there is no such ref")
	case c.new == m.zero() && tag:
		u.Kind = DeleteTag
	case c.new == m.zero():
		u.Kind = Delete
	case tag && exists:
		u.Kind = ForceTag
	case tag:
		u.Kind = Tag
	case exists:
		u.Kind = Force
	default:
		u.Kind = Push
	}
	u.Args = u.args(m)
	return u, nil
}

// args returns the arguments of a git push that does exactly u: the remote refuses the push if its ref is not at Old.
func (u Update) args(m *mirror) []string {
	old, source := u.Old, u.New
	if old == m.zero() {
		old = ""
	}
	if source == m.zero() {
		source = ""
	}
	return []string{"git", "push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no",
		"--force-with-lease=" + u.Ref + ":" + old, "--", u.Remote.URL, source + ":" + u.Ref}
}

// result reads the line of git push --porcelain about u. It returns the reason why the remote refused u, or nil.
func (u Update) result(porcelain string) error {
	for line := range strings.Lines(porcelain) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(parts) != 3 || !strings.HasSuffix(parts[1], ":"+u.Ref) {
			continue
		}
		if parts[0] != "!" {
			return nil
		}
		reason := parts[2] // [rejected] (stale info)
		if _, inner, ok := strings.Cut(reason, "] ("); ok {
			reason = strings.TrimSuffix(inner, ")")
		}
		return fmt.Errorf("%s: %s", u.Remote.Name, names.Plain(reason))
	}
	return fmt.Errorf("%s: it says nothing about this ref", u.Remote.Name)
}

// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// checkConfig checks the configuration of the repository.
func (c *Check) checkConfig(at repository, line commandLine, cfg *config) error {
	remotes := cfg.remotes()
	for _, e := range cfg.entries {
		if err := c.origin(at, e); err != nil {
			return err
		}
		if !e.fromRepository() || c.allows(at, line, remotes, e) {
			continue
		}
		if fetchesLazily(pattern(e.key)) {
			return &Problem{
				Reason: fmt.Sprintf("%s sets %s, by which git %s fetches objects that are missing", e.file(at), quoted(e.key), quoted(line.verb)),
				Fix:    `env: {set: {GIT_NO_LAZY_FETCH: "1"}}`,
			}
		}
		return &Problem{
			Reason: fmt.Sprintf("%s sets %s, which hostexec does not know to be harmless", e.file(at), quoted(e.key)),
			Fix:    "look at it: if it is yours, move it to your own configuration (git config --global), and remove it here: git config --file " + quoted(e.file(at)) + " --unset-all " + quoted(e.key),
		}
	}
	return c.remote(at, line, remotes)
}

// file returns the absolute path of the file that contains e.
func (e entry) file(at repository) string {
	if path.IsAbs(e.origin) {
		return path.Clean(e.origin)
	}
	return path.Join(at.workTree, e.origin)
}

// origin checks the source of e. A container must not be able to write or create a file of the
// user's configuration, nor a file that it includes.
func (c *Check) origin(at repository, e entry) error {
	if e.scope == "command" {
		return nil
	}
	file := e.file(at)
	own := file == path.Join(at.dir, "config") || file == path.Join(at.dir, "config.worktree")
	if !own && c.Mounts.Writable(file) {
		return writableConfig(file)
	}
	section, _, variable := split(e.key)
	if variable != "path" || section != "include" && section != "includeif" {
		return nil
	}
	switch target, ok := c.included(file, e.value); {
	case !ok:
		return &Problem{Reason: fmt.Sprintf("%s includes %s, which hostexec cannot follow", file, quoted(e.value))}
	case c.Mounts.Writable(target):
		return &Problem{Reason: fmt.Sprintf("%s includes %s, which %s can write", file, target, c.Mounts.Writer(target)), Fix: "keep it out of the container's mounts"}
	}
	return nil
}

func writableConfig(file string) error {
	return &Problem{Reason: fmt.Sprintf("the container can write %s, which is configuration of git", file), Fix: "keep it out of the container's mounts"}
}

// included returns the path of the file that an include in file names.
func (c *Check) included(file, value string) (string, bool) {
	switch rest, home := strings.CutPrefix(value, "~/"); {
	case home && osenv.Get(c.Env, "HOME") != "":
		return path.Join(osenv.Get(c.Env, "HOME"), rest), true
	case value == "" || value[0] == '~' || value[0] == '%':
		return "", false
	case path.IsAbs(value):
		return path.Clean(value), true
	}
	return path.Join(path.Dir(file), value), true
}

// allows reports whether e, which the repository sets, is harmless for the command line.
func (c *Check) allows(at repository, line commandLine, remotes map[string]bool, e entry) bool {
	if known(e.key) || harmlessValue(e) || overridableKeys(e.key) && line.set[e.key] {
		return true
	}
	section, subsection, _ := split(e.key)
	if fetchesLazily(pattern(e.key)) {
		return network(line.verb) || osenv.Get(c.Env, "GIT_NO_LAZY_FETCH") == "1"
	}
	switch pattern(e.key) {
	case "format.pretty":
		return !strings.Contains(e.value, "%G") // %G runs gpg
	case "core.worktree": // set in submodules
		return path.Join(at.dir, e.value) == at.workTree || path.Clean(e.value) == at.workTree
	case "include.path": // its entries are checked too, and origin has checked the file
		return true
	case "remote.*.url", "remote.*.pushurl", "submodule.*.url":
		return c.address(e.value)
	case "url.*.insteadof", "url.*.pushinsteadof":
		return isNetworkAddress(subsection+"x") || isNetworkAddress(subsection)
	case "branch.*.remote", "branch.*.pushremote", "remote.pushdefault":
		return e.value == "." || remotes[e.value] || isNetworkAddress(e.value)
	}
	switch section {
	case "pretty":
		return !strings.Contains(e.value, "%G")
	case "alias": // an alias cannot replace a built-in command
		_, builtin := verbReach()[line.verb]
		return builtin
	}
	return false
}

// address reports whether git can use the remote without running code of a container. Such a remote
// is on the network, or in a directory that no container can write.
func (c *Check) address(a string) bool {
	if isNetworkAddress(a) {
		return true
	}
	p, ok := localPath(a)
	return ok && !c.Mounts.Writable(p)
}

// remote checks that a command with a remote uses a configured one. Git treats other names as
// directories, and a push runs the hooks there.
func (c *Check) remote(at repository, line commandLine, remotes map[string]bool) error {
	if !network(line.verb) {
		return nil
	}
	i := slices.IndexFunc(line.rest, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if i < 0 || line.verb == "remote" || remotes[line.rest[i]] || c.address(line.rest[i]) {
		return nil
	}
	return &Problem{
		Reason: fmt.Sprintf("%s has no remote %s, so git looks for a directory of that name", at.cwd, quoted(line.rest[i])),
		Fix:    "git remote add " + quoted(line.rest[i]) + " URL",
	}
}

// quoted returns s for a message or a command line to copy: quoted if it has characters that are special
// in a shell. names.Quoted leaves these alone.
func quoted(s string) string {
	if q := strconv.QuoteToASCII(s); len(q) != len(s)+2 || strings.ContainsAny(s, " '$`&;|<>()*?#~") {
		return q
	}
	return s
}

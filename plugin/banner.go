// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// notice says something that is good to know. Scripts are not told: what run writes for
// them is what docker run writes.
func (l *launch) notice(format string, args ...any) {
	if l.cli.Err().IsTerminal() {
		cli.Say(rawTerminal{l.cli.Err()}, format, args...)
	}
}

// rawTerminal returns the carriage at each end of a line, which a terminal that docker
// run has made raw already (-t) does not do by itself. To another one it means nothing.
type rawTerminal struct{ w io.Writer }

func (t rawTerminal) Write(p []byte) (int, error) {
	_, err := t.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	return len(p), err
}

// announce says, just before the container starts, what the user should know.
func (l *launch) announce() {
	l.warnConfig()
	l.warnPrivs()
	l.warnPort()
	l.banner()
}

// warnPort warns that cloister's clients may call another port than this session's.
func (l *launch) warnPort() {
	wish, at := l.plan.http, l.http.Address
	if !wish.compat || wish.port != 0 || at == "" || strings.HasSuffix(at, ":"+strconv.Itoa(watch.FirstPort)) {
		return
	}
	cli.Say(l.cli.Err(), "warning: --cloister-compat: port %d is taken, and this session has %s: clients that do not read CLOISTER_REQUEST_PORT cannot call", watch.FirstPort, at)
	cli.Say(l.cli.Err(), "hint: docker hostexec status shows the sessions; stop the one that has the port, or name another with --http=:PORT")
}

// warnConfig names the parts of the configuration that are not used. A script is told, too: its calls
// are decided without them.
func (l *launch) warnConfig() {
	var out io.Writer = l.cli.Err()
	if l.cli.Err().IsTerminal() {
		out = rawTerminal{out}
	}
	for _, w := range l.plan.config.Warnings {
		cli.Say(out, "warning: %s", w)
	}
}

// banner says what has been opened.
func (l *launch) banner() {
	commands := l.plan.rec.Commands
	if sh := l.plan.rec.Shell; sh != nil {
		commands = append(slices.Clone(commands), *sh)
	}
	names := allowed(commands)
	if ruled := l.plan.config.Policy(nil).Names(); len(ruled) > 0 {
		l.bannerOfRules(ruled)
	} else if len(names) == 0 {
		l.notice("warning: no command is proxied: add --proxy COMMAND")
	}
	if len(names) == 0 {
		return
	}
	here := slices.DeleteFunc(slices.Clone(commands), l.plan.elsewhere)
	if on := allowed(here); len(on) > 0 {
		l.notice("session %s: %s on this host when the container calls", l.plan.rec.ID, run(on))
		if at := l.where(); at != "" {
			l.notice("%s", at)
		}
	}
	for _, c := range commands {
		if c.Action != "deny" && l.plan.elsewhere(c) {
			l.notice("session %s: %s runs in a fresh container of %s", l.plan.rec.ID, c.Name, l.plan.image(c))
		}
	}
	if at := l.http.Address; at != "" {
		l.notice("session %s: HTTP at %s, for who has the token in %s/%s", l.plan.rec.ID, at, inject.Target, carrier.Token)
	}
	if asked := withAction(commands, "ask"); len(asked) > 0 {
		l.notice("you are asked before %s: docker hostexec pending --watch", run(asked))
	}
	if len(l.writable) == 0 {
		return
	}
	from := strings.Join(l.writable, ", ")
	for _, text := range watch.HostCode(l.plan.config.Policy(proxied(here)), here, from+", which the container can write", policy.Grades...) {
		l.notice("%s", text)
	}
}

// bannerOfRules says for which commands there are rules, and how to call those that are not
// proxied as well.
func (l *launch) bannerOfRules(ruled []string) {
	l.notice("session %s: rules of the configuration apply to %s", l.plan.rec.ID, strings.Join(ruled, ", "))
	if only := l.plan.ruled(os.Getenv("PATH")); len(only) > 0 {
		l.notice("where the container has a program of that name itself, call hostexec %s", strings.Join(only, ", hostexec "))
	}
}

// where says in which directories of this host commands run.
func (l *launch) where() string {
	if l.place == "" && l.link != nil {
		return l.link.Where()
	}
	return l.place
}

// run is names and what they do, in grammar.
func run(names []string) string {
	if len(names) == 1 {
		return names[0] + " runs"
	}
	return strings.Join(names, ", ") + " run"
}

// warnPrivs warns of commands that would fail because they may not gain privileges.
func (l *launch) warnPrivs() {
	if l.plan.rec.NewPrivs {
		return
	}
	for _, c := range l.plan.rec.Commands {
		if c.Action == "deny" || l.plan.elsewhere(c) {
			continue
		}
		if why := needsPrivs(c.Path); why != "" {
			l.notice("warning: %s (%s) %s and may not gain privileges: add --allow-new-privs if it has to", c.Name, c.Path, why)
		}
	}
}

func withAction(commands []state.Command, action string) []string {
	var names []string
	for _, c := range commands {
		if c.Action == action {
			names = append(names, c.Name)
		}
	}
	return names
}

// allowed returns the names of the commands that are not denied.
func allowed(commands []state.Command) []string {
	var names []string
	for _, c := range commands {
		if c.Action != "deny" {
			names = append(names, c.Name)
		}
	}
	return names
}

// writable returns the host directories that a container of want can write.
func writable(want creation) []string {
	var dirs []string
	for _, b := range want.host.Binds {
		parts := strings.Split(b, ":")
		if len(parts) < 2 || !filepath.IsAbs(parts[0]) {
			continue // a volume
		}
		if len(parts) < 3 || !readOnly(parts[2]) {
			dirs = append(dirs, parts[0])
		}
	}
	for _, m := range want.host.Mounts {
		if m.Type == mount.TypeBind && !m.ReadOnly {
			dirs = append(dirs, m.Source)
		}
	}
	return dirs
}

func readOnly(options string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == "ro" || o == "readonly" {
			return true
		}
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// notice says something that is good to know. Scripts are not told: what run writes for
// them is what docker run writes.
func (l *launch) notice(format string, args ...any) {
	if l.cli.Err().IsTerminal() {
		say(rawTerminal{l.cli.Err()}, format, args...)
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
	l.warnPrivs()
	l.banner()
}

// banner says what has been opened.
func (l *launch) banner() {
	commands := l.plan.rec.Commands
	if sh := l.plan.rec.Shell; sh != nil {
		commands = append(slices.Clone(commands), *sh)
	}
	names := allowed(commands)
	for _, w := range l.plan.config.Warnings {
		l.notice("warning: %s", w)
	}
	if ruled := l.plan.config.Policy(nil).Names(); len(ruled) > 0 {
		l.notice("session %s: rules of the configuration hold for %s", l.plan.rec.ID, strings.Join(ruled, ", "))
	} else if len(names) == 0 {
		l.notice("warning: no command is proxied: add --proxy COMMAND")
	}
	if len(names) == 0 {
		return
	}
	here := slices.DeleteFunc(slices.Clone(commands), l.plan.elsewhere)
	if on := allowed(here); len(on) > 0 {
		l.notice("session %s: %s on this host when the container calls", l.plan.rec.ID, run(on))
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
	if tools := codeRunners(here); len(tools) > 0 && len(l.writable) > 0 {
		l.notice("HOST CODE EXECUTION: %s code from %s, which the container can write", run(tools), strings.Join(l.writable, ", "))
	}
}

// run is names and what they do, in grammar.
func run(names []string) string {
	if len(names) == 1 {
		return names[0] + " runs"
	}
	return strings.Join(names, ", ") + " run"
}

// warnPrivs says of a command that would fail why it would, terminal or not.
func (l *launch) warnPrivs() {
	if l.plan.rec.NewPrivs {
		return
	}
	for _, c := range l.plan.rec.Commands {
		if c.Action == "deny" || l.plan.elsewhere(c) {
			continue
		}
		if why := needsPrivs(c.Path); why != "" {
			say(l.cli.Err(), "warning: %s (%s) %s and may not gain privileges: add --allow-new-privs if it has to", c.Name, c.Path, why)
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

func allowed(commands []state.Command) []string {
	var names []string
	for _, c := range commands {
		if c.Action != "deny" {
			names = append(names, c.Name)
		}
	}
	return names
}

// codeRunners returns the commands that run what the container may have written. Git is
// one: hooks and configuration in .git are programs.
func codeRunners(commands []state.Command) []string {
	var names []string
	for _, c := range commands {
		if c.Action != "deny" && (policy.RunsCode(c.Name) || policy.RunsCode(filepath.Base(c.Path))) {
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

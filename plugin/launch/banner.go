// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/plugin/carrier/http"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// Notice prints a message for people. In scripts it prints nothing, so that they get only the output of docker run.
func (l *Launch) Notice(format string, args ...any) {
	if l.Report != nil {
		l.Report(fmt.Sprintf(format, args...))
		return
	}
	if l.CLI.Err().IsTerminal() {
		cli.Say(rawTerminal{l.CLI.Err()}, format, args...)
	}
}

// rawTerminal writes a carriage return before each newline, because docker run -t sets the terminal to raw mode. In
// other modes a carriage return has no effect.
type rawTerminal struct{ w io.Writer }

func (t rawTerminal) Write(p []byte) (int, error) {
	_, err := t.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	return len(p), err
}

// Announce prints warnings and a summary of the session.
func (l *Launch) Announce() {
	l.warnConfig()
	l.AnnounceSession()
}

// AnnounceSession is Announce without the warnings about the configuration, which concern other sessions, too.
func (l *Launch) AnnounceSession() {
	l.warnPrivs()
	l.warnPort()
	l.printCommands()
}

// warnPort warns that clients of cloister may use a port other than the session's.
func (l *Launch) warnPort() {
	wanted, at := l.Plan.http, l.http.Address
	if !wanted.cloister || wanted.port != 0 || at == "" || strings.HasSuffix(at, ":"+strconv.Itoa(watch.FirstPort)) {
		return
	}
	cli.Say(l.CLI.Err(), "warning: --cloister-compat: port %d is taken, and this session has %s: clients that do not read CLOISTER_REQUEST_PORT cannot call", watch.FirstPort, at)
	cli.Say(l.CLI.Err(), "hint: stop the session that has the port (docker hostexec status), or choose another port with --http=:PORT")
}

// warnConfig warns of unused parts of the configuration. It warns scripts too, because these parts do not decide on
// their calls.
func (l *Launch) warnConfig() {
	for _, w := range l.Plan.Config.Warnings {
		l.warn(w)
	}
}

// warnOfMounts prints the watcher's warnings about mounts. It also warns scripts if --workdir-host has no effect,
// because commands then run in another directory.
func (l *Launch) warnOfMounts() {
	for _, w := range l.Conn.Warnings() {
		if strings.HasPrefix(w, "--workdir-host ") {
			l.warn(w)
		} else {
			l.Notice("warning: %s", w)
		}
	}
}

// warn prints a warning for people and for scripts.
func (l *Launch) warn(text string) {
	if l.Report != nil && l.CLI.Err().IsTerminal() {
		l.Report("warning: " + text)
		return
	}
	var out io.Writer = l.CLI.Err()
	if l.CLI.Err().IsTerminal() {
		out = rawTerminal{out}
	}
	cli.Say(out, "warning: %s", text)
}

// printCommands prints the commands that the container can call.
func (l *Launch) printCommands() {
	commands := l.Plan.Record.Commands
	if sh := l.Plan.Record.Shell; sh != nil {
		commands = append(slices.Clone(commands), *sh)
	}
	names := Allowed(commands)
	if ruled := l.Plan.Config.Policy(nil).Names(); len(ruled) > 0 {
		l.printRules(ruled)
	} else if len(names) == 0 {
		l.Notice("warning: no command is proxied: add --proxy COMMAND")
	}
	if len(names) == 0 {
		return
	}
	onHost := slices.DeleteFunc(slices.Clone(commands), l.Plan.Elsewhere)
	rules := l.Plan.Config.Policy(config.PolicyCommands(onHost))
	if allowed := Allowed(onHost); len(allowed) > 0 {
		l.printGitSetup(allowed)
		l.printHostCommands(rules, allowed)
	}
	for _, c := range commands {
		if c.Action != "deny" && l.Plan.Elsewhere(c) {
			l.Notice("session %s: %s runs in a fresh container of %s", l.Plan.Record.ID, c.Name, l.Plan.image(c))
		}
	}
	if at := l.http.Address; at != "" {
		l.Notice("session %s: calls over HTTP at %s, with the token in %s/%s", l.Plan.Record.ID, at, inject.Target, http.ShareTokenFile)
	}
	if asked := withAction(commands, "ask"); len(asked) > 0 {
		l.Notice("you are asked before %s: docker hostexec pending --watch", runPhrase(asked))
	}
	dirs := l.writableDirs()
	if len(dirs) == 0 {
		return
	}
	from := strings.Join(dirs, ", ")
	for _, text := range watch.HostCode(rules, onHost, from+", which the container can write", policy.Grades...) {
		l.Notice("%s", text)
	}
	l.printConfinementHints(rules, onHost)
}

// printHostCommands prints the allowed commands that run on this host, with and without a sandbox, and their
// directories.
func (l *Launch) printHostCommands(rules *policy.Policy, allowed []string) {
	var unconfined, confined []string
	for _, name := range allowed {
		switch {
		case rules.Place(name).Sandboxed:
			confined = append(confined, name)
		case name != policy.GitPush:
			unconfined = append(unconfined, name)
		}
	}
	if len(unconfined) > 0 {
		l.Notice("session %s: %s on this host when the container calls", l.Plan.Record.ID, runPhrase(unconfined))
	}
	if len(confined) > 0 {
		l.Notice("session %s: %s in a sandbox on this host when the container calls", l.Plan.Record.ID, runPhrase(confined))
	}
	if at := l.describeDirs(); at != "" {
		l.Notice("%s", at)
	}
}

// printConfinementHints prints how to confine the commands that run code of the container on this host.
func (l *Launch) printConfinementHints(rules *policy.Policy, onHost []state.Command) {
	var suited, unsuited []string
	git := false
	for _, c := range onHost {
		grade := rules.Grade(c.Name, c.Path)
		switch {
		case c.Action == "deny" || rules.Place(c.Name).Confined():
		case grade == policy.GradeCertain && rules.SuitsSandbox(c.Name, c.Path):
			suited = append(suited, c.Name)
		case grade == policy.GradeCertain && c.Action == "allow":
			unsuited = append(unsuited, c.Name)
		case c.Name == "git" && grade == policy.GradePossible:
			git = state.FindCommand(onHost, policy.GitPush) == nil
		}
	}
	if len(suited) > 0 && sandbox.Supported() == nil {
		l.Notice("hint: --proxy %s,where=sandbox keeps that code from your other files", strings.Join(suited, ",where=sandbox --proxy "))
	}
	if len(unsuited) > 0 {
		l.Notice("hint: no sandbox is possible for %s: --proxy %s=ask asks you before each call", strings.Join(unsuited, ", "), strings.Join(unsuited, "=ask --proxy "))
	}
	if git {
		l.Notice("hint: --proxy git-push pushes and fetches without running git in the container's files")
	}
}

// printGitSetup prints how git in the container reaches remotes by way of this host, if git-push is proxied.
func (l *Launch) printGitSetup(allowed []string) {
	if slices.Contains(allowed, policy.GitPush) {
		l.Notice("session %s: git in the container uses remotes with this host's credentials after this command, typed in the repository:", l.Plan.Record.ID)
		l.Notice("  %s", watch.GitRemotes(l.Store, l.Plan.Record.InvokedIn, l.Plan.Config).Setup())
	}
}

// printRules prints for which commands there are rules, and how to call those that are not proxied.
func (l *Launch) printRules(ruled []string) {
	l.Notice("session %s: rules of the configuration apply to %s", l.Plan.Record.ID, strings.Join(ruled, ", "))
	if only := l.Plan.ruleCommands(os.Getenv("PATH")); len(only) > 0 {
		owner := "container"
		if l.Plan.Record.OnHost() {
			owner = "agent's PATH"
		}
		l.Notice("if the %s has a program of that name, call hostexec %s", owner, strings.Join(only, ", hostexec "))
	}
}

// describeDirs describes the host directories in which commands run.
func (l *Launch) describeDirs() string {
	if l.CommandDirs == "" && l.Conn != nil {
		return l.Conn.CommandDirs()
	}
	return l.CommandDirs
}

// writableDirs returns the host directories that the container, or the agent on this host, can write.
func (l *Launch) writableDirs() []string {
	if l.Writable == nil && l.Conn != nil {
		return l.Conn.Writable()
	}
	return l.Writable
}

// runPhrase joins names with the verb in singular or plural.
func runPhrase(names []string) string {
	if len(names) == 1 {
		return names[0] + " runs"
	}
	return strings.Join(names, ", ") + " run"
}

// warnPrivs warns of commands that would fail because they need to gain privileges.
func (l *Launch) warnPrivs() {
	if l.Plan.Record.NewPrivs {
		return
	}
	for _, c := range l.Plan.Record.Commands {
		if c.Action == "deny" || l.Plan.Elsewhere(c) {
			continue
		}
		if why := needsPrivs(c.Path); why != "" {
			l.Notice("warning: %s (%s) %s and may not gain privileges: add --allow-new-privs if it has to", c.Name, c.Path, why)
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

// Allowed returns the names of the commands that are not denied.
func Allowed(commands []state.Command) []string {
	var names []string
	for _, c := range commands {
		if c.Action != "deny" {
			names = append(names, c.Name)
		}
	}
	return names
}

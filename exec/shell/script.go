// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Command is one command for a shell.
type Command struct {
	ID   string // of the request: 16 hex digits
	Text string // what bash reads; its last newline need not be there
	Env  []string
	Dir  string // relative to where the shell is; "" stays there
}

var quote = shellescape.Quote

// mv is not looked for on PATH, which is the text's to break.
var mv = sync.OnceValue(func() string {
	for _, file := range []string{"/bin/mv", "/usr/bin/mv", "/run/current-system/sw/bin/mv"} {
		if _, err := os.Stat(file); err == nil {
			return file + " -f --"
		}
	}
	return `\builtin command mv -f --`
})

// renamed writes value, which is shell, to file in one step; badly, if mv cannot run.
func renamed(value, file string) string {
	file = quote(file)
	write := `\builtin printf '%d\n' ` + value + ` >|` + file
	return write + `.tmp && ` + mv() + ` ` + file + `.tmp ` + file + ` || ` + write
}

// before is what a text finds: its request's marker, its variables and its directory, and
// the status of the text before it.
func (c Command) before(leave, life string, last int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\\builtin export %s=%s\n", proctree.Marker, quote(c.ID+"."+life))
	if len(c.Env) > 0 {
		fmt.Fprintf(&b, "__hostexec_env=$(\\builtin declare -p %s 2>/dev/null)\n", strings.Join(c.names(), " "))
		b.WriteString(`\builtin export`)
		for _, kv := range c.Env {
			name, value, _ := strings.Cut(kv, "=")
			b.WriteString(" " + name + "=" + quote(value))
		}
		b.WriteString(" || " + leave + "\n")
	}
	if c.Dir != "" {
		b.WriteString(c.enter(leave))
	}
	if last == 0 {
		b.WriteString("\\builtin :\n")
	} else {
		b.WriteString("( \\builtin exit " + strconv.Itoa(last) + " )\n")
	}
	return b.String()
}

// enter changes to the command's directory. A path that begins with ./ is looked for
// nowhere else (CDPATH).
func (c Command) enter(leave string) string {
	dir := c.Dir
	if !strings.HasPrefix(dir, "/") {
		dir = "./" + dir
	}
	return "__hostexec_old=${OLDPWD-} __hostexec_pwd=${PWD-}\n" +
		"\\builtin cd -- " + quote(dir) + " >/dev/null 2>&1 || { \\builtin unset -v __hostexec_pwd __hostexec_old; " +
		"\\builtin printf 'Failed to change directory to %s\\n' " + quote(c.Dir) + " >&2; " + leave + "; }\n"
}

func (c Command) names() []string {
	names := make([]string, len(c.Env))
	for i, kv := range c.Env {
		names[i], _, _ = strings.Cut(kv, "=")
	}
	return names
}

// eval has the shell parse a text when everything around it has been parsed.
func eval(text string) string { return "\\builtin eval -- " + quote(text) + "\n" }

// foreground is the file that runs c in the shell itself.
func (c Command) foreground(f *files, bash string, l *life) string {
	return c.parse(f, bash) + c.before(`\builtin return 1`, l.id, l.last) + eval(c.Text)
}

// parse has another bash look at a text with substitutions. An error in one of them makes
// bash leave its parser without a way back (5.2): it goes on to read where nothing is, and
// dies sooner or later.
func (c Command) parse(f *files, bash string) string {
	if !c.substitutes() {
		return ""
	}
	return "__hostexec_said=$(LC_ALL=C " + quote(bash) + " --norc -O extglob -n -s <" + quote(f.text) + " 2>&1) || { " +
		"\\builtin printf '%s\\n' \"$__hostexec_said\" >&2; \\builtin return 2; }\n"
}

func (c Command) substitutes() bool {
	return strings.Contains(c.Text, "$(") || strings.Contains(c.Text, "<(") || strings.Contains(c.Text, ">(")
}

// background is the file that runs c in a copy of the shell, which is told by nobody but
// its file of exit how it ended.
func (c Command) background(f *files, l *life) string {
	return "{ (\n\\builtin shopt -s expand_aliases\n" + renamed(`"$BASHPID"`, f.pidFile()) + "\n" +
		c.before(`\builtin exit 1`, l.id, l.last) + eval(c.Text) +
		") >>" + quote(f.out.Name()) + " 2>>" + quote(f.err.Name()) + "\n" +
		"__hostexec=$?; " + renamed(`"$__hostexec"`, f.exitFile()) + "\n} &\n\\builtin disown\n"
}

const quiet = " </dev/null >/dev/null 2>&1\n"

// source is the line that has the shell run a file. What bash would run or obey before it
// reads the next line goes.
func (f *files) source() string {
	return "{ __hostexec_runs=1; \\builtin . " + quote(f.script) + "; __hostexec=$? __hostexec_runs=; \\builtin unset -v PROMPT_COMMAND TMOUT; } </dev/null >>" + quote(f.out.Name()) + " 2>>" + quote(f.err.Name()) + "\n"
}

// fork is the line that has the shell run a file of which nothing is the shell's own. It is
// not sourced, or what goes wrong in it would be told under the file's name.
func (f *files) fork() string {
	return "{ \\builtin eval \"$(<" + quote(f.script) + ")\"; \\builtin unset -v TMOUT PROMPT_COMMAND; }" + quiet
}

// again is the line after, for a shell that may have lost it, unless that was too late.
func (c Command) again(f *files) string {
	return "[[ -e " + quote(f.script) + " ]] && " + c.after(f)
}

// after is the line that puts back what c had for itself, and says how it ended. It is a line
// of its own: whatever made bash give up the one before, it goes on with this.
func (c Command) after(f *files) string {
	var b strings.Builder
	b.WriteString("{ __hostexec=${__hostexec-$?} __hostexec_runs=; \\builtin set +e; ")
	if len(c.Env) > 0 {
		fmt.Fprintf(&b, "[[ ${__hostexec_env+x} ]] && { \\builtin unset -v %s; \\builtin eval -- \"$__hostexec_env\"; \\builtin unset -v __hostexec_env; }; ",
			strings.Join(c.names(), " "))
	}
	if c.Dir != "" {
		b.WriteString(`[[ ${__hostexec_pwd+x} ]] && { \builtin cd -- "$__hostexec_pwd" || \builtin cd || \builtin cd /; ` +
			`OLDPWD=$__hostexec_old; \builtin unset -v __hostexec_pwd __hostexec_old; }; `)
	}
	b.WriteString(renamed(`"$__hostexec"`, f.exitFile()))
	b.WriteString(`; \builtin unset -v __hostexec __hostexec_said TMOUT PROMPT_COMMAND; PS0= PS1= PS2=; }` + quiet)
	return b.String()
}

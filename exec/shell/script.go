// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Command is one command for a shell.
type Command struct {
	ID   string // of the request: 16 hex digits
	Text string // what bash reads; its last newline need not be there
	Env  []string
	Dir  string // relative to where the shell is; "" stays there
	// Exact is that Dir is absolute, and what the directory is called when no link is followed:
	// one that has another in its place is not entered.
	Exact bool

	Timeout    time.Duration // from the start of its turn; 0: none
	TimeoutErr error         // the error when the time is up; nil: a TimeoutError
}

var quote = shellescape.Quote

// scriptNames are a command's files, and what else its shell has to do with, as the shell calls
// them.
type scriptNames struct {
	script, text, out, err, exit, pid string

	bash, mv string
}

// mv is not looked for on PATH, which is the text's to break.
var mv = sync.OnceValue(func() string {
	for _, file := range []string{"/bin/mv", "/usr/bin/mv", "/run/current-system/sw/bin/mv"} {
		if _, err := os.Stat(file); err == nil {
			return "LC_ALL=C " + file + " -f --" // without a look at any locale
		}
	}
	return `LC_ALL=C \builtin command mv -f --`
})

// renamed writes value, an expression of the shell, to a file in one step: by mv, or without it if mv
// cannot run. On a full disk an empty file can often still be made: then the value goes into its name.
// Without inodes no file can be made: then the file spare, which nobody opens by its name any more, gets that
// name.
func (n scriptNames) renamed(value, file, spare string) string {
	to := quote(file)
	write := `\builtin printf '%d\n' ` + value + ` >|` + to
	return write + `.tmp && ` + n.mv + ` ` + to + `.tmp ` + to + ` || ` + write + ` || >|` + to + `.` + value +
		` || ` + n.mv + ` ` + quote(spare) + ` ` + to + `.` + value
}

// reportPID tells the pid of a copy by a file.
func (n scriptNames) reportPID() string { return n.renamed(`"$BASHPID"`, n.pid, n.script) }

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
	failed := "\\builtin printf 'Failed to change directory to %s\\n' " + quote(c.Dir) + " >&2; " + leave + "; }\n"
	if c.Exact {
		// What bash takes for its directory may have changed on the way; the kernel knows.
		return "__hostexec_old=${OLDPWD-} __hostexec_pwd=${PWD-}\n" +
			"\\builtin cd -P -- " + quote(dir) + " >/dev/null 2>&1 || { \\builtin unset -v __hostexec_pwd __hostexec_old; " + failed +
			"{ \\builtin cd -P -- \"/proc/$BASHPID/cwd\" && OLDPWD=$__hostexec_pwd && \\builtin [ \"$PWD\" = " + quote(dir) + " ]; } >/dev/null 2>&1 || { " + failed
	}
	return "__hostexec_old=${OLDPWD-} __hostexec_pwd=${PWD-}\n" +
		"\\builtin cd -- " + quote(dir) + " >/dev/null 2>&1 || { \\builtin unset -v __hostexec_pwd __hostexec_old; " + failed
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
func (c Command) foreground(n scriptNames, l *hostProcess) string {
	return c.parse(n) + c.before(`\builtin return 1`, l.id, l.last) + eval(c.Text)
}

// parse has another bash look at a text with substitutions. An error in one of them makes
// bash leave its parser without a way back (5.2): it goes on to read where nothing is, and
// dies sooner or later.
func (c Command) parse(n scriptNames) string {
	if !c.substitutes() {
		return ""
	}
	return "__hostexec_said=$(LC_ALL=C " + quote(n.bash) + " --norc -O extglob -n -s <" + quote(n.text) + " 2>&1) || { " +
		"\\builtin printf '%s\\n' \"$__hostexec_said\" >&2; \\builtin return 2; }\n"
}

func (c Command) substitutes() bool {
	return strings.Contains(c.Text, "$(") || strings.Contains(c.Text, "<(") || strings.Contains(c.Text, ">(")
}

// background is the file that runs c in a copy of the shell, which is told by nobody but
// its file of exit how it ended.
func (c Command) background(n scriptNames, l *hostProcess) string {
	return "{ (\n\\builtin shopt -s expand_aliases\n" + n.reportPID() + "\n" +
		c.before(`\builtin exit 1`, l.id, l.last) + eval(c.Text) +
		") >>" + quote(n.out) + " 2>>" + quote(n.err) + "\n" +
		"__hostexec=$?; " + n.renamed(`"$__hostexec"`, n.exit, n.err) + "\n} &\n\\builtin disown\n"
}

// late is an empty line, for an INT that was sent to end a text and came after its end. Bash drops
// what it has read of a line then, and runs the rest of it.
const late = "\n"

// afterInterrupt is the line after an interrupt. If INT came while bash started the mv of after, the
// next command waits for that: bash reports on its stderr that it cannot set a terminal, if mv was ended.
const afterInterrupt = late + "__hostexec_runs=\n"

const quiet = " </dev/null >/dev/null 2>&1\n"

// source is the line that has the shell run a file. What bash would run or obey before it
// reads the next line goes.
func (n scriptNames) source() string {
	return late + "{ __hostexec_runs=1; \\builtin . " + quote(n.script) + "; __hostexec=$? __hostexec_runs=; " + repair + "\\builtin unset -v PROMPT_COMMAND TMOUT; } </dev/null >>" + quote(n.out) + " 2>>" + quote(n.err) + "\n"
}

// fork is the line that has the shell run a file of which nothing is the shell's own. It is
// not sourced, or what goes wrong in it would be told under the file's name.
func (n scriptNames) fork() string {
	return late + "{ \\builtin eval \"$(<" + quote(n.script) + ")\"; \\builtin unset -v TMOUT PROMPT_COMMAND; }" + quiet
}

// again is the line after, for a shell that may have lost it, unless that was too late.
func (c Command) again(n scriptNames) string {
	return "[[ -e " + quote(n.script) + " ]] && " + c.after(n)
}

// repair gives the shell its builtin "builtin" back, by which all others are called, if a text has put
// a function in its place or disabled it. A text may have done so to unset, too: in POSIX mode a
// special builtin comes before a function. In front of || set -e ignores a failure. A shell that
// cannot be repaired ends.
const repair = `{ \unset -f builtin; __hostexec_works=; \builtin printf -v __hostexec_works y; [[ $__hostexec_works ]] || ` +
	`{ POSIXLY_CORRECT=; \unset -f builtin enable; \enable builtin printf; \builtin printf -v __hostexec_works y; ` +
	`[[ $__hostexec_works ]] || \exit 125; \unset -v POSIXLY_CORRECT; }; } 2>/dev/null || [[ 1 ]]; `

// after is the line that puts back what c had for itself, and says how it ended. It is a line
// of its own: whatever made bash give up the one before, it goes on with this.
func (c Command) after(n scriptNames) string {
	var b strings.Builder
	b.WriteString("{ __hostexec=${__hostexec-$?} __hostexec_runs=; " + repair + "\\builtin set +e; ")
	if len(c.Env) > 0 {
		fmt.Fprintf(&b, "[[ ${__hostexec_env+x} ]] && { \\builtin unset -v %s; \\builtin eval -- \"$__hostexec_env\"; \\builtin unset -v __hostexec_env; }; ",
			strings.Join(c.names(), " "))
	}
	if c.Dir != "" {
		b.WriteString(`[[ ${__hostexec_pwd+x} ]] && { \builtin cd -- "$__hostexec_pwd" || \builtin cd || \builtin cd /; ` +
			`OLDPWD=$__hostexec_old; \builtin unset -v __hostexec_pwd __hostexec_old; }; `)
	}
	b.WriteString(n.renamed(`"$__hostexec"`, n.exit, n.err))
	b.WriteString(`; \builtin unset -v __hostexec __hostexec_said __hostexec_works TMOUT PROMPT_COMMAND; PS0= PS1= PS2=; }` + quiet)
	return b.String()
}

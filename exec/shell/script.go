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
	Text string // the script for bash; its last newline is optional
	Env  []string
	Dir  string // absolute, or relative to the shell's directory; "" stays there
	// Exact means that Dir is absolute and contains no link. If another directory has replaced it, the
	// shell does not enter that.
	Exact bool
	// Copy means that a copy of the shell runs the command. The changes by the command are lost, and other commands can
	// use the shell meanwhile.
	Copy bool

	Timeout    time.Duration // from the start of its turn; 0: none
	TimeoutErr error         // the error when the time is up; nil: a TimeoutError
}

var quote = shellescape.Quote

// scriptNames are the names of a command's files, and of other things that its shell uses.
type scriptNames struct {
	script, text, out, err, exit, pid string

	bash, mv string
}

// mv has an absolute path, because a text can change PATH.
var mv = sync.OnceValue(func() string {
	for _, file := range []string{"/bin/mv", "/usr/bin/mv", "/run/current-system/sw/bin/mv"} {
		if _, err := os.Stat(file); err == nil {
			return "LC_ALL=C " + file + " -f --" // independent of any locale
		}
	}
	return `LC_ALL=C \builtin command mv -f --`
})

// store writes value, an expression of the shell, and a newline to a file: the value is complete when its newline is
// there. On a full disk an empty file can often still be created: then the value goes into its name. Without inodes no
// file can be created: then the file spare, whose name is not used any more, gets that name.
func (n scriptNames) store(value, file, spare string) string {
	to := quote(file)
	named := to + `.` + value
	return `\builtin printf '%d\n' ` + value + ` >|` + to + ` || >|` + named + ` || ` + n.mv + ` ` + quote(spare) + ` ` + named
}

// reportPID writes the pid of a copy to a file.
func (n scriptNames) reportPID() string { return n.store(`"$BASHPID"`, n.pid, n.script) }

// before prepares a text: the marker of its request, its variables, its directory, and the status of the text
// before it.
func (c Command) before(leave, processID string, last int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\\builtin export %s=%s\n", proctree.Marker, quote(c.ID+"."+processID))
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

// enter changes to the command's directory. A path that begins with ./ is not searched elsewhere (CDPATH).
func (c Command) enter(leave string) string {
	dir := c.Dir
	if !strings.HasPrefix(dir, "/") {
		dir = "./" + dir
	}
	failed := "\\builtin printf 'Failed to change directory to %s\\n' " + quote(c.Dir) + " >&2; " + leave + "; }\n"
	if c.Exact {
		// Bash's idea of its directory may be outdated; the kernel's is not.
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

// parse has another bash check a text with substitutions. After an error in one of them, bash 5.2 cannot leave its
// parser: it reads at an invalid position, and crashes sooner or later.
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

// background is the file that runs c in a copy of the shell. The copy reports its end only by its exit file.
func (c Command) background(n scriptNames, l *hostProcess) string {
	return "{ (\n\\builtin shopt -s expand_aliases\n" + n.reportPID() + "\n" +
		c.before(`\builtin exit 1`, l.id, l.last) + eval(c.Text) +
		") >>" + quote(n.out) + " 2>>" + quote(n.err) + "\n" +
		"__hostexec=$?; " + n.store(`"$__hostexec"`, n.exit, n.err) + "\n} &\n\\builtin disown\n"
}

// afterInterrupt is an empty line, for an INT that was sent to end a text and arrived after its end. Bash then drops
// the part of the line that it has read, and runs the rest.
const afterInterrupt = "\n"

// readAhead is the last line for a text. Bash reads up to 1024 bytes of its input at once. This line is longer: so bash
// has executed the lines before when it has read all of this one.
var readAhead = strings.Repeat(" ", 2048) + "\n"

const noOutput = " </dev/null >/dev/null 2>&1\n"

// source is the line that makes the shell run a file. It removes everything that bash would run or obey before
// it reads the next line.
func (n scriptNames) source() string {
	return afterInterrupt + "{ \\builtin . " + quote(n.script) + "; __hostexec=$?; " + repair + "\\builtin unset -v PROMPT_COMMAND TMOUT; } </dev/null >>" + quote(n.out) + " 2>>" + quote(n.err) + "\n"
}

// fork is the line that makes the shell run a file whose commands do not change the shell. The file is not
// sourced: otherwise bash would report errors under the file's name.
func (n scriptNames) fork() string {
	return afterInterrupt + "{ \\builtin eval \"$(<" + quote(n.script) + ")\"; \\builtin unset -v TMOUT PROMPT_COMMAND; }" + noOutput
}

// afterIfLost is the line after, for a shell that may have lost that line, unless bash has read it already.
func (c Command) afterIfLost(n scriptNames) string {
	return "[[ -e " + quote(n.script) + " ]] && " + c.after(n)
}

// repair restores the shell's builtin "builtin", by which all others are called, if a text has replaced it by a
// function or disabled it. A text may have done the same to unset: in POSIX mode a special builtin takes
// precedence over a function. In front of || set -e ignores a failure. If the repair fails, the shell ends.
const repair = `{ \unset -f builtin; __hostexec_works=; \builtin printf -v __hostexec_works y; [[ $__hostexec_works ]] || ` +
	`{ POSIXLY_CORRECT=; \unset -f builtin enable; \enable builtin printf; \builtin printf -v __hostexec_works y; ` +
	`[[ $__hostexec_works ]] || \exit 125; \unset -v POSIXLY_CORRECT; }; } 2>/dev/null || [[ 1 ]]; `

// after is the line that restores the settings that c changed for itself, and reports the status of c. It is a
// separate line: if bash gives up the line before, it continues with this one.
func (c Command) after(n scriptNames) string {
	var b strings.Builder
	b.WriteString("{ __hostexec=${__hostexec-$?}; " + repair + "\\builtin set +e; ")
	if len(c.Env) > 0 {
		fmt.Fprintf(&b, "[[ ${__hostexec_env+x} ]] && { \\builtin unset -v %s; \\builtin eval -- \"$__hostexec_env\"; \\builtin unset -v __hostexec_env; }; ",
			strings.Join(c.names(), " "))
	}
	if c.Dir != "" {
		b.WriteString(`[[ ${__hostexec_pwd+x} ]] && { \builtin cd -- "$__hostexec_pwd" || \builtin cd || \builtin cd /; ` +
			`OLDPWD=$__hostexec_old; \builtin unset -v __hostexec_pwd __hostexec_old; }; `)
	}
	b.WriteString(n.store(`"$__hostexec"`, n.exit, n.err))
	b.WriteString(`; \builtin unset -v __hostexec __hostexec_said __hostexec_works TMOUT PROMPT_COMMAND; PS0= PS1= PS2=; }` + noOutput)
	return b.String()
}

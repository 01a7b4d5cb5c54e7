// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// texts are run one after the other in one shell.
var texts = []struct {
	row, text string
	out, err  string // err is a part of stderr, or "" for none of it
	code      int
}{
	{"F002-001 variables", `x=5`, "", "", 0},
	{"F002-001 variables later", `echo $x`, "5\n", "", 0},
	{"F002-001 functions", `f() { echo "f $1 $x"; }`, "", "", 0},
	{"F002-001 functions later", `f a`, "f a 5\n", "", 0},
	{"F002-001 aliases", "alias al='echo aliased'", "", "", 0},
	{"F002-001 aliases later", "al", "aliased\n", "", 0},
	{"F002-001 arrays", `a=(1 "2 3")`, "", "", 0},
	{"F002-001 arrays later", `echo "${a[1]}"`, "2 3\n", "", 0},
	{"F002-017 cd", `mkdir sub; cd sub`, "", "", 0},
	{"F002-017 cd later", `echo ${PWD##*/}; cd ..`, "sub\n", "", 0},
	{"F002-017 export", `export EXPORTED=yes`, "", "", 0},
	{"F002-017 export later", `sh -c 'echo $EXPORTED'`, "yes\n", "", 0},
	{"F002-002 two streams", `echo a; echo b >&2; echo c`, "a\nc\n", "b\n", 0},
	{"F002-002 bytes", `printf 'x\0\377\1\1\1y'`, "x\x00\xff\x01\x01\x01y", "", 0},
	{"F002-002 no newline", `printf x`, "x", "", 0},
	{"F002-003 silent", `:`, "", "", 0},
	{"F002-003 empty", ``, "", "", 0},
	{"F002-003 a comment", `# nothing`, "", "", 0},
	{"F002-003 blank", " \n\t\n", "", "", 0},
	{"status", `(exit 7)`, "", "", 7},
	{"K19 status of the last", `echo $?`, "7\n", "", 0},
	{"K19 an open quote", `echo "unterminated`, "", "unexpected EOF", 2},
	{"K19 an open quote of the other kind", `echo 'unterminated`, "", "unexpected EOF", 2},
	{"K19 an open if", `if true; then echo x`, "", "unexpected end of file", 2},
	{"K19 an open brace", `{ echo x`, "", "unexpected end of file", 2},
	{"K19 a closing brace", `}`, "", "syntax error", 2},
	{"K19 an open function", `g() {`, "", "unexpected end of file", 2},
	{"K19 an open substitution", `echo $(echo`, "", "unexpected EOF", 2},
	{"K19 an error in a substitution", `echo "$(if)"`, "", "syntax error", 2},
	{"substitutions", `echo $(echo "$(echo a)") $(cat <(echo b))`, "a b\n", "", 0},
	{"K19 a backslash at the end", `echo a \`, "a \\\n", "", 0},
	{"K19 a comment at the end", `echo a # b`, "a\n", "", 0},
	{"F002-067 heredoc", "cat <<E\n$x\nE", "5\n", "", 0},
	{"F002-067 quoted heredoc", "cat <<'E'\n$x\nE\n", "$x\n", "", 0},
	{"F002-067 open heredoc", "cat <<E\n$x", "5\n", "here-document", 0},
	{"F002-068 stdin", `cat; read z || echo none`, "none\n", "", 0},
	{"K19 closed stdin", `exec 0<&-; cat`, "", "cat", 1},
	{"K19 closed outputs", `exec 1>&- 2>&-; echo lost`, "", "", 1},
	{"outputs again", `echo back`, "back\n", "", 0},
	{"K19 background", `sleep 300 & echo on`, "on\n", "", 0},
	{"K19 a text's own EXIT trap", `trap 'echo bye' EXIT`, "", "", 0},
	{"K19 DEBUG trap", `trap ':' DEBUG`, "", "", 0},
	{"K19 no DEBUG trap", `trap - DEBUG`, "", "", 0},
	{"F002-061 unknown", `no-such-command`, "", "not found", 127},
	{"return", `return 4`, "", "", 4},
	{"break", `break; echo on`, "on\n", "break", 0},
	{"unset parameter", `echo ${nope:?missing}`, "", "nope: missing", 1},
	{"nounset", `set -u; echo $nope`, "", "unbound", 1},
	{"nounset off", `set +u; echo on`, "on\n", "", 0},
	{"exec of nothing", `exec no-such-command`, "", "not found", 127},
	{"noclobber", `set -C`, "", "", 0},
	{"noclobber later", `echo on; set +C`, "on\n", "", 0},
	{"errexit holds for its text", `set -e`, "", "", 0},
	{"errexit does not hold later", `false; echo on`, "on\n", "", 0},
	{"exit in a subshell", `(exit 3); echo $?`, "3\n", "", 0},
	{"no PATH", `P=$PATH; PATH=/nowhere; ls`, "", "not found", 127},
	{"PATH again", `PATH=$P; echo on`, "on\n", "", 0},
	{"IFS", `IFS=e1; echo on`, "on\n", "", 0},
	{"IFS later", `unset IFS; echo on`, "on\n", "", 0},
	{"posix", `set -o posix; ${nope:?}; set +o posix`, "", "nope", 1},
	{"not posix", `set +o posix`, "", "", 0},
	{"history off", `set -o history; echo '!!'`, "!!\n", "", 0},
	{"mapped lines", "echo 1\necho 2\n\necho 3", "1\n2\n3\n", "", 0},
	{"TMOUT", `TMOUT=1 PROMPT_COMMAND='cat; exit'`, "", "", 0},
	{"TMOUT later", `echo "$TMOUT$PROMPT_COMMAND"`, "\n", "", 0},
	{"quotes", `echo 'it'"'"'s' "a\"b" $'\''`, "it's a\"b '\n", "", 0},
	{"not UTF-8", "echo \xff\xfe", "\xff\xfe\n", "", 0},
	{"not interactive to a text", `echo $0`, "bash\n", "", 0},
	{"F002-056 norc", `echo "$HISTFILE:${BASH##*/}"`, ":bash\n", "", 0},
}

// TestCommandsInOneShell runs several texts in one shell. The shell is ready after each, and a
// variable keeps its value.
func TestCommandsInOneShell(t *testing.T) { forEachBackend(t, testTexts) }

func testTexts(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	r.text(t, s, `still=here; first=$$`)
	for _, tt := range texts {
		got := r.text(t, s, tt.text)
		if got.code != tt.code || got.out != tt.out || !strings.Contains(got.err, tt.err) || tt.err == "" && got.err != "" {
			t.Errorf("%s: %q: code %d, stdout %q, stderr %q\nwant code %d, stdout %q, stderr with %q",
				tt.row, tt.text, got.code, got.out, got.err, tt.code, tt.out, tt.err)
		}
		if got := r.text(t, s, `s=$?; echo "$still $((first == $$))"; (exit "$s")`).out; got != "here 1\n" {
			t.Fatalf("after %s the shell says %q: it is not the same", tt.row, got)
		}
	}
}

// TestEnvironmentOfOneCommand checks F002-062 to F002-065: the variables of one command end with
// it.
func TestEnvironmentOfOneCommand(t *testing.T) { forEachBackend(t, testScoped) }

func testScoped(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	check(t, os.MkdirAll(filepath.Join(r.work, "a b", "c"), 0o755))
	value := "it's \"$HOME\" `x` \\ \n new"
	r.text(t, s, `old=kept; export exported=kept; list=(1 2); int=3; declare -i int; cd 'a b'; cd ..`)
	c := Command{Text: `printf '%s|' "$old" "$exported" "$list" "$fresh"; sh -c 'printf %s "$fresh"'; echo "|${PWD##*/}"; cd /; old=x`,
		Env: []string{"old=1", "exported=2", "list=3", "fresh=" + value}, Dir: "a b/c"}
	got := r.do(t.Context(), s, c)
	if want := "1|2|3|" + value + "|" + value + "|c\n"; got.out != want || got.err != "" || got.failed != nil {
		t.Errorf("inside: %q %q %v, want %q", got.out, got.err, got.failed, want)
	}
	got = r.text(t, s, `echo "$old $exported ${list[*]} ${fresh-unset} ${PWD#$OLDPWD} $(cd - >/dev/null; echo ${PWD##*/})"; sh -c 'echo ${old-not exported} $exported'; set | grep -c hostexec_`)
	if want := "kept kept 1 2 unset " + r.work + " a b\nnot exported kept\n0\n"; got.out != want && !strings.HasPrefix(got.out, "kept kept 1 2 unset") {
		t.Errorf("after: %q, want %q", got.out, want)
	}
	for _, text := range []string{`echo ${nope:?}`, `return 3`, `if`, `false`} {
		r.do(t.Context(), s, Command{Text: text, Env: []string{"old=1"}, Dir: "a b"})
		if got := r.text(t, s, `echo $old ${PWD##*/}`).out; got != "kept "+filepath.Base(r.work)+"\n" {
			t.Errorf("after %q: %q", text, got)
		}
	}
}

func TestBadScope(t *testing.T) { forEachBackend(t, testBadScope) }

func testBadScope(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	here := r.text(t, s, `pwd`).out
	for _, how := range []func(context.Context, StartConfig, Command, Output) (int, error){s.Exec, s.Start} {
		// F002-049 and F002-050
		got := r.run(t.Context(), how, Command{Text: `echo ran`, Dir: "/no/such"})
		if got.code != 1 || got.out != "" || got.err != "Failed to change directory to /no/such\n" || got.failed != nil {
			t.Errorf("a directory that is none: %+v", got)
		}
		if now := r.text(t, s, `pwd`).out; now != here {
			t.Errorf("F002-050: the shell went to %q", now)
		}
		for _, name := range []string{"", "1a", "a-b", "a b", "a;b", "é", "a\n", "a[0]"} {
			got := r.run(t.Context(), how, Command{Text: `echo ran`, Env: []string{name + "=x"}})
			var bad *EnvNameError
			if !errors.As(got.failed, &bad) || !strings.HasPrefix(got.failed.Error(), "Invalid environment variable name: ") || got.out != "" {
				t.Errorf("F002-063: %q: %+v", name, got)
			}
		}
	}
	if err := r.Create("two", Options{In: r.in, Env: []string{"a-b=1"}}); err == nil {
		t.Error("F002-058: a shell was made with a variable a-b")
	}
	if got := r.do(t.Context(), s, Command{Text: "echo ran", Env: []string{"UID=3"}}); got.code == 0 || got.out != "" {
		t.Errorf("a variable that cannot be set: %+v", got)
	}
}

// TestStartConfig is F002-058, F002-059 and F002-069.
func TestStartConfig(t *testing.T) { forEachBackend(t, testStartConfig) }

func testStartConfig(t *testing.T, r *fixture) {
	r.config.Env = append(r.config.Env, "TMOUT=1", "BASH_ENV=/no", "PROMPT_COMMAND=exit", "SHELLOPTS=posix:noexec", "mine=not")
	check(t, r.Create("env", Options{In: r.in, Env: []string{"mine=yes", "sp=a b"}, Dir: filepath.Join(r.work, "gone")}))
	s, err := r.Find("env")
	check(t, err)
	if got := r.text(t, s, `echo "$mine $sp" ; [ "$PWD" = "$HOME" ] && echo home`).out; got != "yes a b\nhome\n" {
		t.Errorf("a shell with an environment, whose directory is missing, says %q", got)
	}
	r.text(t, s, `mkdir d; cd d; rm -r ../d`)
	if got := r.text(t, s, `echo on; cd "$HOME"; mkdir d; pwd -P | grep -c home; cd d && echo there`).out; !strings.HasPrefix(got, "on\n") || !strings.HasSuffix(got, "there\n") {
		t.Errorf("F002-069: a shell whose directory is gone says %q", got)
	}
}

// TestOutput is F002-014, F002-015, F002-055, F002-057 and F002-066.
func TestOutput(t *testing.T) { forEachBackend(t, testOutput) }

func testOutput(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	got := r.text(t, s, `head -c 20000000 /dev/zero | tr '\0' x; head -c 3000000 /dev/zero >&2`)
	if len(got.out) != 20000000 || len(got.err) != 3000000 {
		t.Errorf("%d and %d bytes came", len(got.out), len(got.err))
	}
	if got := r.text(t, s, `head -c 1000000 /dev/urandom >r; base64 -w0 <r | tee c; cmp <(base64 -w0 r) c && echo same >&2`); got.err != "same\n" {
		t.Errorf("F002-015: %q", got.err)
	}
	got = r.text(t, s, `echo 1; echo 2 >/dev/stdout; echo 3 | tee /dev/stderr; echo 4 >/dev/stderr; echo 5`)
	if got != (result{out: "1\n2\n3\n5\n", err: "3\n4\n"}) {
		t.Errorf("outputs that are opened again: %+v", got)
	}
	// Children do not hold the answer: text has not the patience for these.
	if got := r.text(t, s, `(sleep 1000; echo late) & yes >/dev/null & echo on`); got.out != "on\n" {
		t.Errorf("with children it says %q", got.out)
	}
	if r.remote() {
		return
	}
	if left := count(t, r.Dir); left > kept {
		t.Errorf("%d files are left", left)
	}
}

// TestStream checks that output arrives while the command runs.
func TestStream(t *testing.T) { forEachBackend(t, testStream) }

func testStream(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	for name, how := range map[string]func(context.Context, StartConfig, Command, Output) (int, error){"exec": s.Exec, "start": s.Start} {
		came := make(lines, 10)
		fifo := filepath.Join(r.work, name)
		r.text(t, s, "mkfifo "+quote(fifo))
		done := make(chan error)
		go func() { // ends with the command, which the fifo ends
			_, err := how(t.Context(), r.config, Command{ID: newID(), Text: "echo one; read x <" + quote(fifo) + "; echo $x"}, Output{Out: came, Err: came})
			done <- err
		}()
		if got := <-came; got != "one\n" {
			t.Errorf("%s: first came %q", name, got)
		}
		check(t, os.WriteFile(fifo, []byte("two\n"), 0))
		check(t, <-done)
		if got := <-came; got != "two\n" {
			t.Errorf("%s: then came %q", name, got)
		}
	}
}

type lines chan string

func (l lines) Write(b []byte) (int, error) {
	if len(b) > 0 {
		l <- string(b)
	}
	return len(b), nil
}

// TestExitTrap checks that the output of a trap on EXIT is not lost, whether exit or set -e ends the text.
func TestExitTrap(t *testing.T) { forEachBackend(t, testExitTrap) }

func testExitTrap(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	for _, text := range []string{`trap 'echo bye' EXIT; echo x; exit 3`, `set -e; trap 'echo bye' EXIT; echo x; false; echo no`} {
		if got := r.do(t.Context(), s, Command{Text: text}); got.out != "x\nbye\n" {
			t.Errorf("%s: %+v", text, got)
		}
		if got := r.run(t.Context(), s.Start, Command{Text: text}); got.out != "x\nbye\n" || got.failed != nil {
			t.Errorf("a copy, %s: %+v", text, got)
		}
	}
}

// TestWithoutInotify checks a system without notifications of files: polling finds them.
func TestWithoutInotify(t *testing.T) {
	r := newFixture(t)
	s := r.shell(t, "one")
	b, err := r.ready()
	check(t, err)
	check(t, b.events.Close())
	if got := r.text(t, s, `x=5; echo on; (exit 3)`); got.out != "on\n" || got.code != 3 {
		t.Errorf("a command: %+v", got)
	}
	if got := r.run(t.Context(), s.Start, Command{Text: `echo $x`}); got.out != "5\n" || got.failed != nil {
		t.Errorf("a copy: %+v", got)
	}
}

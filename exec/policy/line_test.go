// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"git", "push", "origin x"}, "git push 'origin x'"},
		{[]string{"git", "push origin", "x"}, "git 'push origin' x"},
		{[]string{"a", "", "it's"}, `a '' 'it'"'"'s'`},
		{[]string{"a", "x\n1"}, `a $'x\n1'`},
		{[]string{"a", "\x1b[2J\x011", `\'`}, `a $'\033[2J\0011' '\'"'"''`},
		{[]string{"é", "\xff"}, `$'\303\251' $'\377'`},
		{nil, ""},
	} {
		if got := CommandLine(tt.args); got != tt.want {
			t.Errorf("CommandLine(%q) = %s, want %s", tt.args, got, tt.want)
		}
	}
}

// TestLineIsShell checks the quoting with bash: bash parses the quoted line back into the
// arguments.
//
// Attack 51.
func TestLineIsShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for c := 1; c < 256; c++ {
		all = append(all, byte(c))
	}
	args := []string{"x", "", string(all), "a'b\\c", "$(id) `id` $x ~ * ; | & < >", "\n\n", "-n", "a=b", "!x", "x\x001"[:1] + "9", "\x019"}
	out, err := exec.Command(bash, "-c", "printf '%s\\0' "+CommandLine(args)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, args) {
		t.Errorf("bash reads %q, want %q", got, args)
	}
}

// unquote parses a line that CommandLine wrote.
func unquote(s string) (args []string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ' ':
			args = append(args, b.String())
			b.Reset()
		case s[i] == '"' || s[i] == '\'':
			end := strings.IndexByte(s[i+1:], s[i])
			if end < 0 {
				return nil, false
			}
			b.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case strings.HasPrefix(s[i:], "$'"):
			for i += 2; i < len(s) && s[i] != '\''; i++ {
				if s[i] != '\\' {
					b.WriteByte(s[i])
					continue
				}
				i++
				if e := strings.IndexByte("ntr", s[i]); e >= 0 {
					b.WriteByte("\n\t\r"[e])
				} else if s[i] >= '0' && s[i] <= '3' {
					b.WriteByte((s[i]-'0')<<6 | (s[i+1]-'0')<<3 | (s[i+2] - '0'))
					i += 2
				} else {
					b.WriteByte(s[i])
				}
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return append(args, b.String()), true
}

// FuzzLine checks that every line is printable ASCII and unambiguous.
//
// Attacks 51, 52, 92.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"a\x00b", "\x00", "it's\x00\xff\n", "$'x'\x00\\", " \x00\"'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := strings.Split(s, "\x00")
		line := CommandLine(args)
		if !ascii(line) {
			t.Errorf("CommandLine(%q) = %q is not printable ASCII", args, line)
		}
		if got, ok := unquote(line); !ok || !slices.Equal(got, args) {
			t.Errorf("CommandLine(%q) = %s reads back as %q", args, line, got)
		}
	})
}

// FuzzLineShell checks that bash reads the words of a line unchanged. The line comes by stdin: an argument has at most
// 128 KiB.
func FuzzLineShell(f *testing.F) {
	for _, s := range []string{"a\x00b", "it's\x00\xff\n", "$'x'\x00\\\x00", "`id`\x00$(id)\x00!x\x00~\x00*", "\x00-n\x00\u00e9", strings.Repeat("\xff", 40_000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		bash := exec.Command("bash")
		bash.Stdin = strings.NewReader(`printf '%s\0' ` + CommandLine(strings.Split(s, "\x00")))
		out, err := bash.Output()
		if err != nil || string(out) != s+"\x00" {
			t.Errorf("%q is %q to a shell, %v", s, out, err)
		}
	})
}

// Attacks 48, 49, 50, 146.
func TestParseLinePattern(t *testing.T) {
	for _, good := range []string{`^git status$`, `^docker compose (up|down|restart|build).*$`, `[(?i)]`, `\(?i`, `(?:a|b)`, `(?P<x>a)`, `\Q(?i)\E`, `[]](?:x)`, `[^]]`, `[[:alpha:](?]`} {
		if _, err := ParseLinePattern(good); err != nil {
			t.Errorf("ParseLinePattern(%q): %v", good, err)
		}
	}
	for _, bad := range []string{`(`, `a)|(b`, `(?i)x`, `(?m)^x$`, `(?s:.)`, `x(?-i)`, `[](?]x(?i)`, "a\nb", "a\x1b", "\xff", strings.Repeat("a", MaxPattern+1), `\E(?i)`, `[a\]](?i)x`} {
		if p, err := ParseLinePattern(bad); err == nil || p.re != nil {
			t.Errorf("ParseLinePattern(%q) is taken", bad)
		}
	}
	if _, ok := newDecision(&Policy{}, Request{Args: []string{"x"}}).first([]LinePattern{{Source: "."}}, "x"); ok {
		t.Error("the zero pattern matches")
	}
}

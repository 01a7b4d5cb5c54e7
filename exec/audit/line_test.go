// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
	"testing"

	"al.essio.dev/pkg/shellescape"
	"time"
)

// TestLine checks the complete line of each event.
//
// Attack 132.
func TestLine(t *testing.T) {
	const who = " project=app branch=main cloister=0123456789ab container=quirky_noyce agent=- cmd="
	for _, tt := range []struct {
		name string
		rec  Record
		want string
	}{
		{"request", Record{Kind: Request, Args: []string{"git", "push"}, Rule: "--proxy git=ask", Path: "/usr/bin/git", Dir: "/w"},
			`REQUEST` + who + `"git push" request=00ff rule="--proxy git=ask" path=/usr/bin/git cwd=/w`},
		{"auto approve", Record{Kind: AutoApprove, Args: []string{"make"}, Rule: "--proxy make"},
			`AUTO_APPROVE` + who + `"make" request=00ff rule="--proxy make" pattern="--proxy make"`},
		{"by a pattern", Record{Kind: AutoApprove, Args: []string{"docker", "ps"}, Rule: "auto.0", Pattern: "^docker ps.*$"},
			`AUTO_APPROVE` + who + `"docker ps" request=00ff rule=auto.0 pattern="^docker ps.*$"`},
		{"approve", Record{Kind: Approve, Args: []string{"git"}, Rule: "r", By: "ann"},
			`APPROVE` + who + `"git" request=00ff rule=r user="ann"`},
		{"a grant", Record{Kind: Approve, Args: []string{"git"}, Rule: "r", By: "ann", Grant: "00ee for this session: git <number>"},
			`APPROVE` + who + `"git" request=00ff rule=r user="ann" grant="00ee for this session: git <number>"`},
		{"deny", Record{Kind: Deny, Args: []string{"rm"}, Reason: `say "no"`},
			`DENY` + who + `"rm" request=00ff rule=- reason="say \"no\""`},
		{"denied by somebody", Record{Kind: Deny, Args: []string{"rm"}, Rule: "r", By: "ann", Reason: "no"},
			`DENY` + who + `"rm" request=00ff rule=r user="ann" reason="no"`},
		{"timeout", Record{Kind: Timeout, Args: []string{"rm"}, Rule: "r"}, `TIMEOUT` + who + `"rm" request=00ff rule=r`},
		{"cancel", Record{Kind: Cancel, Args: []string{"rm"}, Rule: "r"}, `CANCEL` + who + `"rm" request=00ff rule=r`},
		{"start", Record{Kind: Start, Args: []string{"make", "a b"}, Rule: "--proxy make", Path: "/usr/bin/make", Dir: "/home/u/my app", Approved: true},
			`START` + who + `"make 'a b'" request=00ff rule="--proxy make" path=/usr/bin/make cwd="/home/u/my app"`},
		{"complete", Record{Kind: Complete, Args: []string{"make"}, Exit: 2, Duration: 2340 * time.Millisecond},
			`COMPLETE` + who + `"make" request=00ff exit=2 duration=2.340s`},
		{"killed", Record{Kind: Complete, Args: []string{"make"}, Exit: 143, Signal: "TERM", Duration: 4500 * time.Microsecond},
			`COMPLETE` + who + `"make" request=00ff signal=TERM exit=143 duration=0.005s`},
		{"a newline forges nothing", Record{Kind: Deny, Args: []string{"x", "\nHOSTEXEC START"}},
			`DENY` + who + `"x '\nHOSTEXEC START'" request=00ff rule=- reason=""`},
		{"bytes, not runes", Record{Kind: Deny, Args: []string{"x", "\xff\x1b[2K\u202e"}},
			`DENY` + who + `"x '\xff\x1b[2K\u202e'" request=00ff rule=- reason=""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.rec.Request = "00ff"
			body := body(someone, tt.rec, nil)
			if want := " HOSTEXEC " + tt.want; body != want {
				t.Errorf("body = %s\nwant   %s", body, want)
			}
			line, next := chainPosition{seq: 6, hash: strings.Repeat("ab", 16)}.seal(noon, session, body)
			want := "2026-11-21T09:00:00Z" + body + " chain=" + session + " seq=7 prev=" + strings.Repeat("ab", 16) + " hash=" + next.hash + "\n"
			if string(line) != want {
				t.Errorf("line = %swant   %s", line, want)
			}
		})
	}
}

// TestInjective checks that different commands have different texts, also if they are too long for
// a record. An empty value differs from a dash.
//
// Attack 131.
func TestInjective(t *testing.T) {
	long := strings.Repeat("a", maxCommand)
	many := slices.Repeat([]string{strings.Repeat("b", maxArg)}, 40)
	seen := map[string][]string{}
	for _, args := range [][]string{
		{"a", "b"}, {"a b"}, {"a", "", "b"}, {"a", "b", ""}, {"a", "'b'"}, {"a", `"b"`}, {"a", `\x00`}, {"a", "\xff"}, {"a", "\xfe"},
		{"a", "\\xff"}, {"a", "-"}, {"a", long + "x"}, {"a", long + "y"}, {"a", long, "x"},
		{"a", strings.Repeat("a", maxArg) + "x"}, {"a", strings.Repeat("a", maxArg) + "y"}, {"a", short([]string{strings.Repeat("a", maxArg) + "x"})},
		append([]string{"a", "b"}, many...), append([]string{"a", "c"}, many...), append(many, "a"), append(many, "b"),
	} {
		got := rendered(args)
		if other, ok := seen[got]; ok {
			t.Errorf("%.20q and %.20q are both %q", args, other, got)
		}
		seen[got] = args
	}
	var empty, dash strings.Builder
	field(&empty, "x", "")
	field(&dash, "x", "-")
	if empty.String() == dash.String() {
		t.Errorf("an empty field and a dash both give %q", dash.String())
	}
}

func rendered(args []string) string {
	var b strings.Builder
	command(&b, args, nil, maxCommand)
	return b.String()
}

// FuzzInjective checks that two commands of two words have equal text only if they are equal.
//
// Attack 131.
func FuzzInjective(f *testing.F) {
	f.Add("make", "test", "make test", "")
	f.Add("a", "\xff", "a", "\xfe")
	f.Add("a'", "b", "a", "'b")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		same := a == c && b == d
		if got := rendered([]string{a, b}) == rendered([]string{c, d}); got != same {
			t.Fatalf("%q %q and %q %q look alike: %t", a, b, c, d, got)
		}
	})
}

// TestShort checks that the length of a record is limited for any command.
//
// Attack 132.
func TestShort(t *testing.T) {
	for _, unit := range []string{"a", "\xff", "\x00", "'", "\"", "\\", "\u202e", "\U0010ffff", " "} {
		huge := strings.Repeat(unit, 100000/len(unit))
		for _, args := range [][]string{{"x", huge}, slices.Repeat([]string{huge[:maxArg]}, 50), slices.Repeat([]string{unit}, 9000)} {
			size := len(shellescape.QuoteCommand(args))
			for _, k := range []Kind{Start, Complete, Deny, Refusals} {
				r := Record{Kind: k, Request: "00ff", Args: args, Reason: huge, Rule: "--proxy x"}
				line, _ := chainPosition{}.seal(noon, session, body(someone, r, nil))
				if limit := maxShown(k) + maxReason + 1024; len(line) > limit {
					t.Errorf("%s of %d times %q: %d bytes, want at most %d", k, len(args), unit, len(line), limit)
				}
				e, err := Parse(strings.TrimSuffix(string(line), "\n"))
				if err != nil || e.Bytes != size || len(e.SHA256) != 64 {
					t.Errorf("%s of %d times %q: %d bytes, digest %q, %v", k, len(args), unit, e.Bytes, e.SHA256, err)
				}
				if _, ok := e.Split(); ok {
					t.Errorf("%s of %d times %q: a command that was cut is split", k, len(args), unit)
				}
			}
		}
	}
}

// TestLongArgument checks that a long argument keeps its beginning, its length and its SHA-256, and
// that other arguments are complete.
func TestLongArgument(t *testing.T) {
	long := strings.Repeat("a", 1000000)
	got := rendered([]string{"cc", "-c", long, "x y"})
	want := ` cmd="cc -c ` + long[:maxArg] + `[1000000:` + digestOf(long) + `] 'x y'" cmd_bytes=1000012 cmd_sha256=`
	if !strings.HasPrefix(got, want) {
		t.Errorf("command = %s, want %s", got, want)
	}
}

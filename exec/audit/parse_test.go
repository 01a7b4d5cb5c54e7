// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// roundTrip checks that a record is one line, and that parsing it returns the record.
func roundTrip(t *testing.T, who SessionInfo, r Record) {
	t.Helper()
	line, next := chainPosition{}.seal(noon, who.Session, body(who, r, nil))
	text, ok := strings.CutSuffix(string(line), "\n")
	if !ok || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Fatalf("not one line of printable ASCII: %q", line)
	}
	got, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	command, shown := shellescape.QuoteCommand(r.Args), truncateQuoted(short(r.Args), maxShown(r.Kind))
	want := Entry{
		Time: noon.UTC().Truncate(time.Second), SessionInfo: who, Record: r, Command: command,
		Chain: who.Session, Seq: 1, Prev: origin, Hash: next.hash,
	}
	if shown != command {
		want.Command, want.Bytes, want.SHA256 = shown, len(command), digestOf(command)
	}
	want.Reason = truncateQuoted(r.Reason, maxReason)
	want.Args, want.Approved, want.Duration = nil, false, max(r.Duration, 0).Round(time.Millisecond)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v\nwant    %+v", got, want)
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"", "-", "x", `"`, `\`, "a b", "\n", "\xff", "\u202e", "=", "x=y", `" hash=`, " chain=x seq=1", "[torn]", strings.Repeat("long ", maxCommand)} {
		who := SessionInfo{Project: s, Branch: s, Session: s, Container: s, Agent: s}
		for _, r := range []Record{
			{Kind: Request, Rule: s, Path: s, Dir: s},
			{Kind: Start, Rule: s, Path: s, Dir: s},
			{Kind: AutoApprove, Rule: s, Pattern: s + "^"},
			{Kind: Approve, Rule: s, By: s},
			{Kind: Timeout, Rule: s},
			{Kind: Cancel, Rule: s},
			{Kind: Deny, Rule: s, By: s, Reason: s},
			{Kind: Complete, Exit: 137, Signal: "KILL", Duration: 1234567 * time.Microsecond},
			{Kind: Complete, Exit: -1, Duration: 300 * time.Hour},
			{Kind: Refusals, Count: 1234, Since: noon.UTC().Truncate(time.Second), Reason: s},
		} {
			r.Request, r.Args = s, []string{"x", s}
			roundTrip(t, who, r)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	line, _ := chainPosition{}.seal(noon, session, body(someone, Record{Kind: Complete, Request: "00ff", Args: []string{"make", "test"}}, nil))
	good := strings.TrimSuffix(string(line), "\n")
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, line string
		want       error
	}{
		{"nothing", "", errForm},
		{"half", good[:len(good)/2], errForm},
		{"without its last digit", good[:len(good)-1], ErrHash},
		{"more", good + " x=y", ErrHash},
		{"more, and no field", good + " [torn]", errForm},
		{"a word more", good + " x", errForm},
		{"a space more", good + " ", errForm},
		{"two spaces", strings.Replace(good, " cmd", "  cmd", 1), errForm},
		{"another command", strings.Replace(good, "make test", "make tesT", 1), ErrHash},
		{"another time", strings.Replace(good, "2026", "2025", 1), ErrHash},
		{"a local time", strings.Replace(good, "Z ", "+00:00 ", 1), errForm},
		{"another kind", strings.Replace(good, "COMPLETE", "START", 1), ErrHash},
		{"no kind", strings.Replace(good, "COMPLETE", "END", 1), errForm},
		{"quoted where it need not be", strings.Replace(good, "container=quirky_noyce", `container="x"`, 1), ErrHash},
		{"other quotes", strings.Replace(good, `"make test"`, "`make test`", 1), errForm},
		{"other escapes", strings.Replace(good, "make test", `make\x20test`, 1), errForm},
		{"a tab", strings.Replace(good, "make test", "make\ttest", 1), errForm},
		{"not ASCII", strings.Replace(good, "make test", "mäke test", 1), errForm},
		{"the same twice", good + " exit=0", errForm},
		{"no hash", strings.Split(good, " hash=")[0], errForm},
		{"no number", strings.Replace(good, "exit=0", "exit=x", 1), errForm},
		{"no duration", strings.Replace(good, "0.000s", "0.000m", 1), errForm},
		{"a duration that is not", strings.Replace(good, "0.000s", "NaNs", 1), errForm},
		{"too long", good + strings.Repeat(" ", maxLine), errForm},
	} {
		if _, err := Parse(tt.line); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// FuzzRecord checks that hostile text stays within its field.
//
// Attacks 129, 130.
func FuzzRecord(f *testing.F) {
	f.Add("web", "make", "test", "no", int64(5))
	f.Add("\n", "\x7f\xc2\x9b", `" hash=`, "\\", int64(-1))
	f.Fuzz(func(t *testing.T, name, a, b, reason string, took int64) {
		if len(name)+len(a)+len(b)+len(reason) > 64<<10 {
			return // too long for a record
		}
		who := SessionInfo{Project: name, Branch: a, Session: b, Container: name, Agent: reason}
		roundTrip(t, who, Record{Kind: Deny, Request: a, Args: []string{a, b}, Rule: b, By: name + "x", Reason: reason})
		roundTrip(t, who, Record{Kind: Complete, Request: a, Args: []string{a, b}, Duration: time.Duration(took) % (1 << 50)})
	})
}

// FuzzParse checks that Parse returns errForm, ErrHash or no error for any line, and that the JSON
// of the entry is printable ASCII.
func FuzzParse(f *testing.F) {
	line, _ := chainPosition{}.seal(noon, session, body(someone, Record{Kind: Complete, Request: "00ff", Args: []string{"make", "test"}}, nil))
	f.Add(strings.TrimSuffix(string(line), "\n"))
	f.Add("2026-11-21T09:00:00Z HOSTEXEC START project=")
	f.Fuzz(func(t *testing.T, line string) {
		e, err := Parse(line)
		if err != nil && !errors.Is(err, errForm) && !errors.Is(err, ErrHash) {
			t.Fatalf("Parse(%q): %v", line, err)
		}
		out, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out {
			if c < ' ' || c > '~' {
				t.Fatalf("JSON of %q has byte %#x: %s", line, c, out)
			}
		}
	})
}

// Attacks 92, 93, 130.
func TestShow(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "make 'a b'": "make 'a b'", `a"b\`: `a"b\`, `"`: `"\""`, "\x1b[m": `"\x1b[m"`, "\xff": `"\xff"`, "é": `"\u00e9"`,
	} {
		if got := PrintableText(text); got != want {
			t.Errorf("Show(%q) = %s, want %s", text, got, want)
		}
	}
}

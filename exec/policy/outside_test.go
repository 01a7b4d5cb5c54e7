// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"strings"
	"testing"
)

// TestPathOutside checks which arguments name a path outside of the workspace, anywhere in the argument.
func TestPathOutside(t *testing.T) {
	for _, s := range strings.Fields(`
		/ /x // ~ ~/x ~root .. ../x a/.. a/../b ./.. a//.. d/../../../../home/me/.ssh @/x @../x @~ =/x x=/x --x=/y --x=..
		--x=../y --x=~/y -C.. -C/x -C../x -xf/etc/x -I/usr -o~ file:/x file:///x a:/x a:../x HEAD:/x HEAD:../x a,../b a,/b
		(/x {../x [/x '../x '/x "/x |/x ;../x \x ..\x a\..\b C:\x C:/x +/x #/x %/x ?/x *../x a=..,b ..,a ..=b http:/x
		http:../x https:/x https://x/../y https://.. https://../../x http://a/b/.. ftp://x/y hhttp://x HTTP://x -a../b - -..
		a/b/../../..`) {
		if want := s != "-"; namesOutsidePath(s, atValue) != want {
			t.Errorf("namesOutsidePath(%q) = %v, want %v", s, !want, want)
		}
	}
	for _, s := range append(strings.Fields(`
		a a/b a.b a..b a.. ..a ... ./... ./a/... a/...  a/.b a/..b a/b.. . ./ ./a a/. main..dev main...dev HEAD~1 HEAD^ HEAD~~
		HEAD^~2 main.. agent/fix-1 v1.2.3 feature/x.y -n --x --x=y --x=a/b -j8 -n=5 x=y a:b a@b @a user@host host:a/b 12 1.5s
		http://x https://x/y https://x/y?a=/z https://x/~me http://localhost:3000/a?b=c#d https://x/... plan-0a.tfplan -- a+b
		{a}/b x{y}..z a/- a-b/c_d --a-b=c.d/e`), "", "a b") {
		if namesOutsidePath(s, atValue) {
			t.Errorf("namesOutsidePath(%q), and it stays inside", s)
		}
	}
	for s, want := range map[string]bool{"-a/b": false, "-Ca/..": true, "-/../x": true, "-..": false, "--": false, "/x": true, "a=-C..": true} {
		if got := namesOutsidePath(s, afterDashes); got != want {
			t.Errorf("behind --, namesOutsidePath(%q) = %v, want %v", s, got, want)
		}
	}
}

// TestEscape checks whether a pattern matches a path outside of the workspace.
//
// Attack 63.
func TestEscape(t *testing.T) {
	for source, want := range map[string]string{
		"[a-z./]+": "/", ".*": "/", "~.*": "~", "[a-z/]+": "/", "a/[a-z.]+": "a/..", `[^/]*`: "~", `[^/~]*`: "\\", `[^/~\\]*`: "..", `[a-z.]{2}`: "..",
		`[A-Za-z0-9][A-Za-z0-9_./^~-]{0,100}`: "a/..", `(x|y/..)`: "y/=/", `\.\.`: "..", `x=(a|/b)`: "x=/b", `a{3}/\.+`: "aaa/..",
		`(?:a/)?b|c/\.\./d`: "c/../d", `\S+`: "/", `[[:print:]]`: "/", `file:.+`: "file:/", `a.b`: "", `a..b`: "a=/b", `a\b/\b\.\.`: "", `a\b/\B\.\.`: "a/..",
		`https?://[a-z./]+`: "http://..", `^/x$`: "/x", `a$/x`: "", `-C[a-z.]+`: "-C..", `-I[a-z/]+`: "-I/", `\Qa/..\E`: "a/..",
		`[0-9]{1,4}`: "", `agent/[a-z0-9][a-z0-9-]{0,60}`: "", `[A-Za-z0-9_/^$|]{1,100}`: "/", `\w[\w-]*(?:[./][\w-]+)*(?:[~^]\d*)*`: "",
		`\w[\w-]*(?:[./][\w-]+)*(?:\.\.\.?\w[\w-]*(?:[./][\w-]+)*)?`: "", `plan-[0-9a-f]{8}\.tfplan`: "", `[a-z]+(=[a-z]+)?`: "",
		`\./[A-Za-z0-9_-][A-Za-z0-9_/-]{0,100}(?:/\.\.\.)?|\.|\./\.\.\.`: "", `[0-9]{1,4}[smh]`: "", `v?\d+\.\d+\.\d+`: "", `[a-z0-9][a-z0-9_.-]{0,60}`: "",
		`https?://[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?`: "", `@[a-z]+`: "", `-j[0-9]{1,2}`: "", `(a|b)*a(a|b){200}`: "", ``: "",
	} {
		pattern := argPattern(source)
		got, found := pattern.escape(atValue, pattern.dashed)
		if got != want || found != (want != "") {
			t.Errorf("escape(%q) = %q, %v, want %q", source, got, found, want)
		}
		if found && (!pattern.match(got) || !namesOutsidePath(got, atValue)) {
			t.Errorf("escape(%q) = %q, which is no example", source, got)
		}
	}
	wide, err := ParseArgPattern(`[\x{e0}-\x{ff}]/\.\.`, true)
	if _, found := wide.escape(atValue, false); err != nil || !found {
		t.Errorf("other than ASCII: %v, %v", found, err)
	}
	if _, found := argPattern(`(([a-z]{0,10}){0,10}[0-9.]{0,9}){0,9}(([a-z]{0,10}){0,10}[0-9]{0,9}){0,9}`+strings.Repeat(`([a-z]{0,30}|[0-9]{0,30}){0,30}`, 25)).escape(atValue, false); !found {
		t.Error("what is too large to be looked through counts as inside")
	}
}

// FuzzEscape compares the search with leaves. If the search finds nothing, no text that the pattern
// matches leaves the workspace. If it finds a text, that text is an example.
//
// Attack 63.
func FuzzEscape(f *testing.F) {
	for _, source := range []string{"[a-z./]+", `\w+(/\w+)*`, `a\b.`, `^(x|$)/\.\.`, `-?[C.]{3}`, `http[^a]*`} {
		for _, s := range []string{"a/..", "-C..", "x", "http://a/../b", "a=/b"} {
			f.Add(source, s)
		}
	}
	f.Fuzz(func(t *testing.T, source, s string) {
		if len(source) > 60 || strings.Contains(source, "{") && !regexp.MustCompile(`\{\d\}`).MatchString(source) {
			return
		}
		pattern, err := ParseArgPattern(source, false)
		if err != nil {
			return
		}
		example, found := pattern.escape(atValue, true)
		if !found && pattern.match(s) && namesOutsidePath(s, atValue) {
			t.Errorf("%q matches %q, which leaves, and nothing was found", source, s)
		}
		if found && example != "" && !(pattern.match(example) && namesOutsidePath(example, atValue)) {
			t.Errorf("%q: %q is no example", source, example)
		}
	})
}

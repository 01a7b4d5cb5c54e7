// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/exec/exectest"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

var allForms = []policy.Form{policy.FormNumber, policy.FormPath, policy.FormWords}

// varying returns a question whose argument n may vary, and whose path arguments were found below the mount.
func varying(n int, args ...string) Question {
	q := ask("1", args...)
	q.Mount = BindMount{"/w", "/home/you/app"}
	for i := 1; i < len(args); i++ {
		q.Paths = append(q.Paths, i)
	}
	q.Offers = []Offer{{Argument: n, Forms: FittingForms(allForms, args[n], true)}}
	return q
}

// TestVary checks which values a grant admits in place of the argument that varies.
//
// Attacks 262, 263.
func TestVary(t *testing.T) {
	long := strings.Repeat("x", plainPath.Max)
	for _, tt := range []struct {
		vary     string
		shown    string
		yes, not []string
		line     string
	}{
		{"2", "12", []string{"0", "7", "999999999"}, []string{"", "-1", "+1", "1.5", "007", "1e3", " 1", "1 ", "1\n", "0x1", "1234567890", "\u0661", "12;x"}, "x y <number>"},
		{"2=path", "a/b", []string{"a/c", "./c", "/w/a/b", "a/.gitignore"}, []string{
			"", "c", "-rf", "-rf/x", "../c", "a/../c", "a/..", "~/c", ".git/config", "a/.git/hooks/x", ".GIT/config", ".git./config", "a/c ", " a/c", "a/\nc", "a/\x1b[2J",
			"host:a/c", "@a/c", "+a/c", "a/*", "a/c=1", "a/\u202ec", "\u0430/c", "a/c\x00", "a/$x", "a/`x`", "a\\c/x", ":(top)a/c", long + "/x",
		}, "x y <path below /w>"},
		{"2", "c", []string{"d", "d/e"}, []string{"-d", ".git", "..", "d d"}, "x y <path below /w>"},
		{"2=main,dev", "main", []string{"dev"}, []string{"", "mai", "main,dev", "-dev", "dev ", "Dev", "d\u0435v", "main|dev"}, "x y <main|dev>"},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := open()
			granted(t, q, varying(2, "x", "y", tt.shown), Terms{Always: true, Vary: tt.vary})
			if g := q.Grants()[0]; g.By() != "grant "+g.ID+": "+tt.line {
				t.Errorf("%s: recorded as %s, want %s", tt.vary, g.By(), tt.line)
			}
			for _, value := range append(tt.yes, tt.shown) {
				if _, ok, err := q.Granted(varying(2, "x", "y", value)); !ok || err != nil {
					t.Errorf("%s of %q: %q is not granted: %v", tt.vary, tt.shown, value, err)
				}
			}
			for _, value := range tt.not {
				if _, ok, _ := q.Granted(varying(2, "x", "y", value)); ok {
					t.Errorf("%s of %q: %q is granted", tt.vary, tt.shown, value)
				}
			}
		})
	}
}

// TestVaryPlace checks that a path is granted only if it was found below the same mount.
//
// Attack 263.
func TestVaryPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		granted(t, q, varying(1, "rm", "a", "b"), Terms{Always: true, Vary: "1"})
		for name, change := range map[string]func(*Question){
			"not found":           func(ask *Question) { ask.Paths = nil },
			"another is found":    func(ask *Question) { ask.Paths = []int{2} },
			"no mount":            func(ask *Question) { ask.Mount = BindMount{} },
			"another mount":       func(ask *Question) { ask.Mount.Target = "/x" },
			"another host's":      func(ask *Question) { ask.Mount.Source = "/home/you" },
			"called otherwise":    func(ask *Question) { ask.Called, ask.Notes = []string{"rm", "c", "b"}, []string{"called as rm c b"} },
			"a note":              func(ask *Question) { ask.Notes = []string{"stdin is 2 bytes"} },
			"the other argument":  func(ask *Question) { ask.Args[2] = "c" },
			"one argument more":   func(ask *Question) { ask.Args = append(ask.Args, "d") },
			"one argument less":   func(ask *Question) { ask.Args = ask.Args[:2] },
			"the program's name":  func(ask *Question) { ask.Args[0] = "cat" },
			"another directory":   func(ask *Question) { ask.Dir = "/" },
			"another grade":       func(ask *Question) { ask.Grade = policy.GradeCertain },
			"arguments exchanged": func(ask *Question) { ask.Args[1], ask.Args[2] = ask.Args[2], ask.Args[1] },
		} {
			other := varying(1, "rm", "c", "b")
			change(&other)
			if _, ok, _ := q.Granted(other); ok {
				t.Errorf("%s: it is granted", name)
			}
		}
		if paths := q.PathsOf(varying(1, "rm", "c", "b")); !slices.Equal(paths, []int{1}) {
			t.Errorf("paths to look up: %v", paths)
		}
		if paths := q.PathsOf(varying(1, "rm", "-c", "b")); paths != nil {
			t.Errorf("paths to look up of an option: %v", paths)
		}
	})
}

// TestVaryCalled checks the arguments of a caller that the host adds to: they vary only together with the shown one.
func TestVaryCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := func(value string, own ...string) Question {
			q := varying(3, "git", "--no-pager", "add", value)
			q.Called, q.Notes = own, []string{"called as " + strings.Join(own, " ")}
			return q
		}
		q := open()
		granted(t, q, called("a", "git", "add", "a"), Terms{Always: true, Vary: "3"})
		for _, tt := range []struct {
			ask  Question
			want bool
		}{
			{called("a", "git", "add", "a"), true}, {called("b", "git", "add", "b"), true},
			{called("b", "git", "add", "a"), false}, {called("a", "git", "add", "b"), false}, {called("b", "git", "rm", "b"), false},
			{called("b", "git", "b", "b"), false}, {called("b", "git", "add", "b", ""), false}, {varying(3, "git", "--no-pager", "add", "b"), false},
		} {
			if _, ok, _ := q.Granted(tt.ask); ok != tt.want {
				t.Errorf("%q called as %q: %t", tt.ask.Args, tt.ask.Called, ok)
			}
		}
	})
}

// TestBadVary checks that terms with an argument that cannot vary so approve nothing.
func TestBadVary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		a := varying(2, "x", "y", "word", "-z")
		a.Offers = []Offer{{Argument: 2, Forms: []policy.Form{policy.FormWords}}, {Argument: 3, Problem: "it is an option, or may set one"}}
		got := put(t.Context(), q, a)
		synctest.Wait()
		for spec, want := range map[string]string{
			"0": "names no argument", "02": "names no argument", "x": "names no argument", "-1": "names no argument", "9": "no argument 9 that can vary",
			"3": "it is an option", "3=a,b": "it is an option", "2": "give the words", "2=path": "cannot vary as a path", "2=number": "cannot vary as a number",
			"2=word": "a list of 2", "2=": "a list of 2", "2=a,b": "not among the words", "2=word,": "word 2", "2=word,-x": "word 2", "2=word,a=b": "word 2", "2=word, b": "word 2",
			"2=word,word": "word 2", "2=word,\u00e4": "word 2", "2=word," + strings.Repeat("x", maxWord+1): "word 2", "2=word" + strings.Repeat(",a", maxWords): "a list of 2",
		} {
			err := q.Grant("1", a.Digest(), []string{"1"}, "", Terms{Always: true, Vary: spec})
			if vary := (*VaryError)(nil); !errors.As(err, &vary) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", spec, err, want)
			}
		}
		if err := q.Grant("1", a.Digest(), []string{"1"}, "", Terms{Vary: "2=word,b"}); err != ErrTerms {
			t.Errorf("without terms: %v", err)
		}
		if len(q.Grants()) != 0 || len(q.Pending()) != 1 {
			t.Errorf("what failed left %+v, %+v", q.Grants(), q.Pending())
		}
		if err := q.Deny("1", a.Digest(), "", ""); err != nil {
			t.Error(err)
		}
		<-got
	})
}

// TestVarySettles checks that a new grant settles the waiting questions that it covers, within its number of calls. A
// denial of exactly one value is stronger.
func TestVarySettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open()
		deny := put(t.Context(), q, varying(1, "rm", "secret"))
		synctest.Wait()
		secret := varying(1, "rm", "secret")
		if err := q.Deny("1", secret.Digest(), "", ""); err != nil {
			t.Fatal(err)
		}
		<-deny
		covered, other := varying(1, "rm", "b"), varying(1, "cat", "b")
		covered.ID, other.ID = "2", "3"
		got, left := put(t.Context(), q, covered), put(t.Context(), q, other)
		synctest.Wait()
		granted(t, q, varying(1, "rm", "a"), Terms{Times: 3, Vary: "1"})
		if a := <-got; a.Outcome != Approved || !strings.HasSuffix(a.By, ": rm <path below /w>") {
			t.Errorf("the waiting call is told %+v", a)
		}
		if all := q.Grants(); len(all) != 1 || all[0].Left != 1 || len(q.Pending()) != 1 {
			t.Errorf("%+v hold, %d wait", all, len(q.Pending()))
		}
		if _, ok, _ := q.Granted(secret); ok {
			t.Error("what was denied a moment ago is granted")
		}
		time.Sleep(minBackoff)
		if _, ok, _ := q.Granted(secret); !ok || len(q.Grants()) != 0 {
			t.Error("the denial has not ended, or the call was not counted")
		}
		if err := q.Deny("3", other.Digest(), "", ""); err != nil {
			t.Error(err)
		}
		<-left
	})
}

// TestVaryFile checks that a stored grant varies as before, and that a changed file yields no grants.
//
// Attack 72.
func TestVaryFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	q := stored(t, file)
	a := varying(3, "x", "y", "z", "a/b")
	a.Called, a.Notes = []string{"x", "a/b"}, []string{"called as x a/b"}
	granted(t, q, a, Terms{Always: true, Vary: "3=path"})
	granted(t, q, varying(1, "x", "a"), Terms{For: time.Hour, Vary: "1=a,b"})
	again := stored(t, file)
	if n := len(again.Grants()); n != 2 {
		t.Fatalf("%d grants are read, want 2", n)
	}
	for i, g := range again.Grants() {
		if was := q.Grants()[i]; !reflect.DeepEqual(g.Varying, was.Varying) || !slices.Equal(g.Question.Called, was.Question.Called) || g.digest != was.digest {
			t.Errorf("it is %+v, was %+v", g, was)
		}
	}
	if _, ok, _ := again.Granted(varying(1, "x", "b")); !ok {
		t.Error("the other word is not granted any more")
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"form": "path"`, `"form": "any"`}, {`"form": "path"`, `"form": ""`}, {`"form": "path"`, `"form": "words"`}, {`"argument": 3`, `"argument": 0`}, {`"argument": 3`, `"argument": 4`},
		{`"below": "\"/w\""`, `"below": "\"\""`}, {`"words"`, `"word"`}, {`"\"b\""`, `"\"-b\""`}, {`"\"b\""`, `"\"a\""`}, {`"argument": 3`, `"argument": 2`},
		{`"dir": "\"/home/you/app\""`, `"dir": "\"\""`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if change[1] == `"argument": 2` {
			bad = strings.ReplaceAll(bad, `\"z\"`, `\"-z\"`)
		}
		if bad == string(good) {
			t.Fatalf("there is no %s in %s", change[0], good)
		}
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		broken := &Queue{}
		if err := broken.LoadGrants(file, "s"); err == nil || len(broken.Grants()) != 0 {
			t.Errorf("%s for %s: %v, and %d grants", change[1], change[0], err, len(broken.Grants()))
		}
	}
}

// pieces are the parts of random arguments. Many of them fit a form, or nearly do.
var pieces = []string{"a", "b", "src/", "/w/", "..", "/", "-", "--", "-rf", "12", "0", "9", ".git", " ", "\n", "=", "main", "dev", ",", "\u202e", "\u0430", "", "x:y", "~", "@", "./"}

func piece(r *rand.Rand) (s string) {
	for range 1 + r.IntN(3) {
		s += pieces[r.IntN(len(pieces))]
	}
	return s
}

// TestVaryProperty grants random calls with a random argument that varies. It makes random calls. Those that a grant
// admits differ in no other argument, and have no option or value of another form there.
//
// Attacks 262, 263.
func TestVaryProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	admitted, grants, variations := 0, 0, exectest.Scaled(20_000, 5000)
	for range variations {
		args := []string{"x"}
		for range 1 + r.IntN(4) {
			args = append(args, piece(r))
		}
		n := 1 + r.IntN(len(args)-1)
		q := varying(n, args...)
		form := []string{"", "=path", "=number", "=main,dev,a," + args[n]}[r.IntN(4)]
		v, err := q.VaryingArgument(string(rune('0'+n)) + form)
		if len(q.Offers[0].Forms) == 0 || err != nil {
			continue
		}
		grants++
		g := Grant{Question: q, Varying: v, digest: q.Digest()}
		for range 20 {
			other := varying(n, args...)
			for range 1 + r.IntN(2) {
				other.Args = slices.Clone(other.Args)
				if i := r.IntN(len(args) + 1); i == len(args) {
					other.Args = append(other.Args, piece(r))
				} else if i != 0 || r.IntN(4) == 0 {
					other.Args[i] = piece(r)
				}
			}
			if g.covers(&other, other.Digest()) {
				admitted++
				checkAdmitted(t, g, other)
			}
		}
	}
	if grants < variations/20 || admitted < variations/20 {
		t.Errorf("%d grants admitted %d calls: too few to show anything", grants, admitted)
	}
}

// checkAdmitted checks, in other words than the code, that other is a call that g states.
func checkAdmitted(t *testing.T, g Grant, other Question) {
	t.Helper()
	n := g.Varying.Argument
	if len(other.Args) != len(g.Question.Args) {
		t.Fatalf("%q admits %q", g.Question.Args, other.Args)
	}
	for i := range other.Args {
		if i != n && other.Args[i] != g.Question.Args[i] {
			t.Fatalf("%q, where %d varies, admits %q", g.Question.Args, n, other.Args)
		}
	}
	value := other.Args[n]
	bad := value == "" || strings.HasPrefix(value, "-") || strings.ContainsAny(value, "=\n\u202e\u0430") || strings.HasPrefix(value, " ") || strings.HasSuffix(value, " ")
	switch g.Varying.Form {
	case policy.FormNumber:
		bad = bad || strings.Trim(value, "0123456789") != ""
	case policy.FormPath:
		for _, part := range []string{"..", ".git", ":", "~", " ", ","} {
			bad = bad || part != "," && slices.Contains(strings.Split(value, "/"), part) || strings.ContainsAny(value, ":~ ")
		}
	case policy.FormWords:
		bad = bad || !slices.Contains(g.Varying.Words, value)
	default:
		bad = true
	}
	if bad {
		t.Fatalf("%q, where %d varies as %s, admits %q", g.Question.Args, n, g.Varying, value)
	}
}

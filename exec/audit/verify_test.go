// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// verify checks files in their current state.
func verify(t testing.TB, paths ...string) Report {
	t.Helper()
	r, err := OpenFiles(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := Verify(r)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// verifyLog checks a log with its rotated files.
func verifyLog(t testing.TB, path string) Report {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := Verify(r)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// twoChains returns the lines of a log of two sessions whose records alternate: a1 b1 a2 b2 ...
func twoChains(t testing.TB, n int) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	var logs []*Log
	for _, id := range []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb"} {
		l, err := Open(path, SessionInfo{Session: id}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		logs = append(logs, l)
	}
	for i := range n {
		for _, l := range logs {
			if err := l.Write(Record{Kind: Deny, Request: "00ff", Args: []string{"cmd", fmt.Sprint(i + 1)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return lines(t, path)
}

// Attack 135.
func TestVerifyFinds(t *testing.T) {
	whole := twoChains(t, 5) // lines 1 to 10
	swap := func(i, j int) []string { l := slices.Clone(whole); l[i-1], l[j-1] = l[j-1], l[i-1]; return l }
	edit := func(i int, old, new string) []string {
		l := slices.Clone(whole)
		if l[i-1] = strings.Replace(l[i-1], old, new, 1); l[i-1] == whole[i-1] {
			t.Fatalf("%s has no %s", l[i-1], old)
		}
		return l
	}
	drop := func(i, j int) []string { return slices.Delete(slices.Clone(whole), i-1, j) }
	// A rewritten record with a valid hash.
	forge := func(i int) []string {
		l := edit(i, "cmd 2", "cmd X")
		signed, _, _ := strings.Cut(l[i-1], hashField)
		l[i-1] = signed + hashField + digest(signed)
		return l
	}
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string // the beginning of each fault, with its line
	}{
		{"nothing", whole, nil},
		{"altered", edit(3, "cmd 2", "cmd 7"), []string{"3: altered: the record does not have the hash"}},
		{"the last one altered", edit(10, "cmd 5", "cmd 7"), []string{"10: altered"}},
		{"written anew", forge(3), []string{"5: altered: record 2 of chain aaaaaaaaaaaa, which comes before this one"}},
		{"removed", drop(3, 3), []string{"4: removed: record 2 of chain aaaaaaaaaaaa should"}},
		{"many removed", drop(3, 8), []string{"3: removed: records 2 to 4 of chain aaaaaaaaaaaa", "4: removed: records 2 to 4 of chain bbbbbbbbbbbb"}},
		{"the first removed", drop(1, 4), []string{"1: removed: records 1 to 2 of chain a", "2: removed: records 1 to 2 of chain b"}},
		{"reordered", swap(5, 7), []string{"5: reordered: record 3 of chain aaaaaaaaaaaa comes later"}},
		{"reordered far", swap(1, 9), []string{"1: reordered: record 1 of chain aaaaaaaaaaaa comes later"}},
		{"of other sessions, which is no order", swap(5, 6), nil},
		{"duplicated", slices.Insert(slices.Clone(whole), 6, whole[4]), []string{"7: duplicated: record 3 of chain aaaaaaaaaaaa"}},
		{"cut in the middle", edit(3, whole[2][100:], ""), []string{"3: truncated", "5: removed: record 2"}},
		{"cut early", edit(3, whole[2][10:], ""), []string{"3: altered: not a record", "5: removed: record 2"}},
		{"cut at the end", edit(10, whole[9][100:], "")[:10], []string{"10: truncated"}},
		{"an empty line", slices.Insert(slices.Clone(whole), 6, ""), []string{"7: altered: not a record"}},
		{"another line", slices.Insert(slices.Clone(whole), 6, "# nothing to see"), []string{"7: altered: not a record"}},
		{"half a line, marked", slices.Insert(slices.Clone(whole), 6, whole[6][:50]+" [torn]"), nil},
		{"a record, marked as half a line", edit(5, whole[4][100:], " [torn]"), []string{"7: removed: record 3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			if err := os.WriteFile(path, []byte(strings.Join(tt.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			rep := verify(t, path)
			if len(rep.Faults) != len(tt.want) {
				t.Fatalf("faults = %v, want %q", rep.Faults, tt.want)
			}
			for i, want := range tt.want {
				if got := rep.Faults[i].String(); !strings.HasPrefix(got, path+":"+want) {
					t.Errorf("fault = %s, want %s", got, want)
				}
			}
		})
	}
}

// TestVerifyCannotFind checks the changes that Verify cannot detect: a removed end and a rewritten
// end.
//
// Attack 135.
func TestVerifyCannotFind(t *testing.T) {
	whole := twoChains(t, 5)
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(strings.Join(whole[:6], "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := verify(t, path); len(rep.Faults) != 0 || rep.Records != 6 || rep.Chains != 2 {
		t.Errorf("report = %+v, want 6 records of 2 chains and no fault", rep)
	}
}

func TestVerifyPartialLine(t *testing.T) {
	whole := twoChains(t, 2)
	path := filepath.Join(t.TempDir(), "audit.log")
	for _, cut := range []int{1, 100, len(whole[3])} { // the last cut removes only the line end
		text := strings.Join(whole[:3], "\n") + "\n" + whole[3][:cut]
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		rep := verify(t, path)
		if len(rep.Faults) != 1 || rep.Faults[0].Line != 4 || !strings.HasPrefix(rep.Faults[0].What, "truncated") {
			t.Errorf("%d bytes of the last line: %v, want line 4 truncated", cut, rep.Faults)
		}
	}
}

func TestVerifyManyFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("x\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := verify(t, path); len(rep.Faults) != maxFaults || rep.More != 1000-maxFaults {
		t.Errorf("%d faults and %d more, want %d and the rest", len(rep.Faults), rep.More, maxFaults)
	}
}

// A number that no chain comes to costs no memory.
func TestVerifyHugeNumber(t *testing.T) {
	line, _ := chainPosition{seq: 1 << 62, hash: origin}.seal(noon, session, body(someone, Record{Kind: Deny, Request: "00ff", Args: []string{"x"}}, nil))
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, line, 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := verify(t, path); len(rep.Faults) != 1 || !strings.Contains(rep.Faults[0].What, "removed") {
		t.Errorf("faults = %v, want one that records were removed", rep.Faults)
	}
}

func TestVerifyOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{})
	for _, r := range []Record{{Kind: Start, Request: "01"}, {Kind: Start, Request: "02"}, {Kind: Complete, Request: "01"}, {Kind: Start, Request: "03"}} {
		r.Args = []string{"make\n"}
		if r.Request == "03" {
			r.Args = []string{strings.Repeat("x", 16000)}
		}
		if err := l.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	rep := verify(t, path)
	long := path + ":4: request 03: " + strings.Repeat("x", 100) + "..."
	if len(rep.Unfinished) != 2 || rep.Unfinished[0].String() != path+`:2: request 02: "'make\n'"` || rep.Unfinished[1].String() != long {
		t.Errorf("open = %v, want request 02, and the beginning of request 03", rep.Unfinished)
	}
}

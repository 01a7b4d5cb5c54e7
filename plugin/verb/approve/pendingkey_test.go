// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// TestQuestionIsShownWhole checks that the terminal shows a question completely, to its last byte,
// with effects and notes.
//
// Attacks 94, 95.
func TestQuestionIsShownWhole(t *testing.T) {
	long := strings.Repeat("x", 20_000) + "; rm -rf ~"
	pad := strings.Repeat(" ", 65)
	const two = "  argv[4]  --dry-run"
	fake := "main" + pad + two + strings.Repeat(" -", 80) + "Request 0011 of container web" + strings.Repeat(" -", 80) + "runs /usr/bin/ls"
	q := control.Question{
		ID: "00112233aabbccdd", Args: append([]string{"sh", "-c", long}, names.PrintableArgs([]string{"\x1b[2K\x1b[1A", "a\nb", "\u202e", "' [y] approve", fake, `"` + fake})...),
		Path: "/bin/sh", Dir: "/home/u/w", Cwd: "/w", Rule: "sh/x", Container: "web", Waiting: []string{"00112233aabbccdd"},
		Effects: []string{"network"}, Grade: policy.GradeCertain, Preview: &control.Preview{Output: "make" + pad + two + "\n\tx"}, Diff: " Request\n+" + pad + pad + two + "\n",
		Notes: names.PrintableArgs([]string{"the container sets B=" + pad + pad + two, "stdin is 2 bytes: hi", "the container sets A=\x1b]0;x\a"}),
	}
	for i := range 500 {
		q.Args = append(q.Args, fmt.Sprint("arg", i))
	}
	var out bytes.Buffer
	showQuestion(&out, 80, []control.Question{q}, 1)
	whole := strings.ReplaceAll(out.String(), "\n"+continued, "")
	for _, want := range []string{
		"  argv[2]  " + long + "\n", `  argv[7]  "main\x20\x20`, `  argv[8]  "\"main\x20\x20`, `argv[3]  "\x1b[2K\x1b[1A"` + "\n", `argv[4]  "a\nb"` + "\n", `argv[5]  "\u202e"` + "\n", "argv[6]  ' [y] approve\n", "argv[508]  arg499\n",
		"  WARNING  HOST CODE EXECUTION: ", "  effects  network\n", "  note     stdin is 2 bytes: hi\n", `  note     "the container sets A=\x1b]0;x\a"` + "\n",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("it does not show %.80q", want)
		}
	}
	for row := range strings.Lines(out.String()) {
		if len(row) > 81 {
			t.Errorf("a row has %d characters", len(row)-1)
		}
	}
	for _, ours := range []string{"Request ", "runs ", "argv[4] "} {
		if n := strings.Count("\n"+strings.ReplaceAll(out.String(), "\n  ", "\n"), "\n"+ours); n != 1 {
			t.Errorf("%d rows begin with %s", n, ours)
		}
	}
	for i, arg := range []string{fake, `"` + fake} {
		_, shown, _ := strings.Cut(whole, fmt.Sprintf("\n  argv[%d]  ", 7+i))
		shown, _, _ = strings.Cut(shown, "\n")
		if got, err := strconv.Unquote(shown); got != arg || err != nil || strings.Contains(shown, "  ") {
			t.Errorf("argument %d is shown as %s, which is %q, %v", 7+i, shown, got, err)
		}
	}
	if strings.ContainsFunc(out.String(), func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' }) {
		t.Errorf("it is not printable ASCII: %q", out.String()[:500])
	}
	r := newPendingRow(nil, q, false, time.Now())
	if got := r.Effects + r.Notes; !strings.Contains(got, "HOST CODE EXECUTION") || !strings.Contains(got, "stdin is") {
		t.Errorf("pending shows %q", got)
	}
}

// TestReadReason types a reason for a denial, mistakes and all.
func TestReadReason(t *testing.T) {
	for typed, want := range map[string]string{
		"use a branch\r": "use a branch", " x \n": "x", "\r": "", "nä\x7f\x08\x7f\x7fyes\r": "yes", "\x1b": "-", "abc\x03": "-", "abc\x1c": "-", "a\x01\tb\r": "ab", "\xffa\r": "a",
		strings.Repeat("x", 2*maxReason) + "\r": strings.Repeat("x", maxReason),
	} {
		keys := make(chan byte, len(typed))
		for _, key := range []byte(typed) {
			keys <- key
		}
		close(keys)
		got, ok := readReason(t.Context(), io.Discard, keys)
		if !ok {
			got += "-"
		}
		if got != want {
			t.Errorf("%q gives the reason %q, want %q", typed, got, want)
		}
	}
	keys := make(chan byte)
	close(keys)
	if _, ok := readReason(t.Context(), io.Discard, keys); ok {
		t.Error("a closed terminal gives a reason")
	}
}

// TestKeysTypedAhead types before a question can have been read: that is no answer.
//
// Attack 96.
func TestKeysTypedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newQuestionList(nil)
		q := control.Question{ID: "00112233aabbccdd", Session: "s", Waiting: []string{"00112233aabbccdd"}}
		d.set("s", []control.Question{q})
		<-d.changed
		all := func(control.Question) bool { return true }
		keys := make(chan byte)
		begin := time.Now()
		var typist sync.WaitGroup
		// ends when all keys are taken.
		typist.Go(func() {
			for _, key := range "ya\ry" { // the last one comes when it is ready
				time.Sleep(minShown * 3 / 10)
				keys <- byte(key)
			}
		})
		key, news := d.key(context.Background(), io.Discard, keys, []control.Question{q}, all)
		if took := time.Since(begin); key != keyYes || news != "" || took < minShown {
			t.Errorf("key %q after %s, and %q, want y after %s at least", key, took, news, minShown)
		}
		typist.Wait()
		// One that was exchanged is not what the key is for.
		other := q
		other.ID = "ffffffffffffffff"
		d.set("s", []control.Question{other})
		if key, news := d.key(context.Background(), io.Discard, keys, []control.Question{q}, all); news == "" {
			t.Errorf("key %q answers another question", key)
		}
	})
}

// TestKeysThatQuit types the keys that end other programs: a raw terminal sends no signals.
func TestKeysThatQuit(t *testing.T) {
	for _, key := range []byte("q\x03\x04\x1c") {
		d := newQuestionList(nil)
		keys := make(chan byte, 1)
		keys <- key
		if over := d.idle(t.Context(), keys); !over {
			t.Errorf("key %q does not quit", key)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/inputs"
)

// withFile returns a question whose script has that content.
func withFile(content string) Question {
	sum := sha256.Sum256([]byte(content))
	files := &inputs.Set{Call: "c", Files: []inputs.File{{Path: "run.sh", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Content: []byte(content)}}}
	return Question{ID: "1", Args: []string{"sh", "run.sh"}, Path: "/bin/sh", Rule: "r", Session: "s", Inputs: files}
}

// TestUnchanged checks that an approval on this condition is bound to what was shown, holds for nothing else, and
// survives a restart of the watcher.
func TestUnchanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	q := &Queue{WaitAlways: true}
	if err := q.LoadGrants(file, "s"); err != nil {
		t.Fatal(err)
	}
	answer := make(chan Answer)
	changed := q.Changed()
	// ends with the answer.
	go func() { answer <- q.Ask(context.Background(), withFile("echo 1"), nil) }()
	<-changed
	was, other := withFile("echo 1"), withFile("echo 2")
	terms := Terms{Unchanged: true}
	for _, digest := range []string{was.Digest(), other.ShownDigest()} {
		if err := q.Grant("1", digest, []string{"1"}, "ann", terms); !errors.Is(err, ErrChanged) {
			t.Errorf("with another digest: %v, want %v", err, ErrChanged)
		}
	}
	if err := q.Grant("1", was.ShownDigest(), []string{"1"}, "ann", Terms{Unchanged: true, Vary: "1"}); !errors.Is(err, ErrTerms) {
		t.Errorf("with an argument that varies: %v, want %v", err, ErrTerms)
	}
	if err := q.Grant("1", was.ShownDigest(), []string{"1"}, "ann", terms); err != nil {
		t.Fatal(err)
	}
	if a := <-answer; a.Outcome != Approved || a.Inputs != was.Inputs.Digest() {
		t.Errorf("the answer is %+v, want it to depend on the files", a)
	}
	restarted := &Queue{}
	if err := restarted.LoadGrants(file, "s"); err != nil {
		t.Fatal(err)
	}
	unread := withFile("")
	unread.Inputs = nil
	for _, tt := range []struct {
		name string
		ask  Question
		want bool
	}{{"unchanged", was, true}, {"changed", other, false}, {"without files", unread, false}} {
		if _, ok, err := restarted.Granted(tt.ask); ok != tt.want || err != nil {
			t.Errorf("%s: granted is %t, %v, want %t", tt.name, ok, err, tt.want)
		}
	}
	if got := restarted.ApprovedInputs("c"); got.Digest() != was.Inputs.Digest() || string(got.Files[0].Content) != "echo 1" {
		t.Errorf("approved was %+v", got)
	}
	if err := restarted.Revoke(restarted.Grants()[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := restarted.Granted(was); ok || restarted.ApprovedInputs("c") != nil {
		t.Error("a revoked grant holds")
	}
}

// TestUnchangedTerms checks that the condition goes with each of the other terms.
func TestUnchangedTerms(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		terms Terms
		until bool
		left  int
	}{{Terms{Unchanged: true}, false, Unlimited}, {Terms{Unchanged: true, Always: true}, false, Unlimited}, {Terms{Unchanged: true, For: time.Hour}, true, Unlimited}, {Terms{Unchanged: true, Times: 3}, false, 3}} {
		g, err := tt.terms.grant(withFile("x"), "ann", now)
		if err != nil || g.Unchanged == nil || g.Until.IsZero() == tt.until || g.Left != tt.left {
			t.Errorf("%+v: %+v, %v", tt.terms, g, err)
		}
	}
	none := withFile("x")
	none.Inputs = nil
	if _, err := (Terms{Unchanged: true}).grant(none, "ann", now); !errors.Is(err, ErrNoInputs) {
		t.Errorf("without files: %v, want %v", err, ErrNoInputs)
	}
}

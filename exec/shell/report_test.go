// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"
)

// TestEventsIncompleteRune checks that a rune of two writes is one event's, and that one that never becomes complete is
// reported before the end. The last byte of such output was lost.
func TestEventsIncompleteRune(t *testing.T) {
	var b bytes.Buffer
	e := Report{To: &b}.Events()
	for _, s := range []string{"caf\xc3", "\xa9 caf\xe9"} {
		if n, err := io.WriteString(e.Out(), s); n != len(s) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", s, n, err)
		}
	}
	io.WriteString(e.Err(), "\xe9")
	e.Ended(0, "")
	e.Ended(0, "") // a second end repeats no output
	var got []string
	for in := json.NewDecoder(&b); in.More(); {
		var ev event
		if err := in.Decode(&ev); err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Type+" "+ev.Data)
	}
	want := []string{"stdout caf", "stdout é caf", "stdout \ufffd", "stderr \ufffd", "complete ", "complete "}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

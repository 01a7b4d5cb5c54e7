// SPDX-License-Identifier: Apache-2.0

package job

import (
	"io"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/recording"
)

const hostile = "plain\tone\r\n\x1b[31mred\x1b]0;title\a \u202eé\u009b \\ 10%\r20%\n"

func recorded(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	r, err := recording.Create(dir, "00ff", recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(hostile) { // a character's bytes, and \r\n, come apart
		r.Tee(recording.Stdout, io.Discard).Write([]byte{hostile[i]})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Attack 101.
func TestReplay(t *testing.T) {
	dir := recorded(t)
	for _, tt := range []struct {
		raw  bool
		want string
	}{
		{true, hostile},
		{false, "plain\tone\n" + `\x1b[31mred\x1b]0;title\a \u202e\u00e9\u009b \ 10%\r20%` + "\n"},
	} {
		var out, errs strings.Builder
		if err := replay(t.Context(), &out, &errs, dir, "00", replayOptions{speed: 1, raw: tt.raw, noDelay: true}); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want || errs.String() != "" {
			t.Errorf("raw %t: %q, %q\nwant %q", tt.raw, out.String(), errs.String(), tt.want)
		}
	}
	for _, opts := range []replayOptions{{}, {speed: -1}} {
		if err := replay(t.Context(), &strings.Builder{}, &strings.Builder{}, dir, "00ff", opts); err == nil {
			t.Errorf("speed %g was accepted", opts.speed)
		}
	}
	if err := replay(t.Context(), &strings.Builder{}, &strings.Builder{}, dir, "11", replayOptions{speed: 1}); err == nil {
		t.Error("it replays a missing recording")
	}
}

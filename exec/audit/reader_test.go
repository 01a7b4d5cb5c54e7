// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReader reads a log of any bytes. The reader returns the lines of the file. Verify finds a fault unless each line
// is a record. Tail returns the end of the file.
//
// Attack 135.
func FuzzReader(f *testing.F) {
	good := strings.Join(twoChains(f, 2), "\n") + "\n"
	for _, s := range []string{good, good[:len(good)-9], good[strings.IndexByte(good, '\n')+1:], strings.Replace(good, "cmd", "cmb", 1), "\n\x00\n", ""} {
		f.Add([]byte(s), uint16(300))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint16) {
		path := filepath.Join(t.TempDir(), "audit.log")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var all []string
		r, err := OpenFiles(path)
		for err == nil {
			var l Line
			if l, err = r.Next(); err == nil {
				all = append(all, l.Text)
				if _, perr := Parse(l.Text); l.Recordable && perr == nil && strings.Contains(l.Text, "\n") {
					t.Errorf("%q is one record", l.Text)
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		r.Close()
		if whole := strings.Join(all, "\n"); len(text) < maxLine && whole != strings.TrimSuffix(string(text), "\n") {
			t.Errorf("the lines of %q are %q", text, all)
		}
		report := verify(t, path)
		for _, line := range all {
			if _, err := Parse(line); err != nil && len(report.Faults) == 0 && !strings.HasSuffix(line+"\n", incompleteLineEnd) {
				t.Errorf("%q has no fault, and %v", text, err)
			}
		}
		tail, err := Tail(path, int64(size))
		if ended := text[:bytes.LastIndexByte(text, '\n')+1]; err != nil || len(tail) > int(size) || !bytes.HasSuffix(ended, tail) {
			t.Errorf("the last %d bytes of %q are %q, %v", size, text, tail, err)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestOutput checks that a Buffer refuses the write that exceeds its size, and that a Prefix drops the rest.
func TestOutput(t *testing.T) {
	b, p := Buffer{Max: 5}, Prefix{Max: 5}
	for i, tt := range []struct {
		write, buffer, prefix string
		err                   error
	}{
		{"abc", "abc", "abc", nil},
		{"def", "abc", "abcde", errTooMuch},
		{"gh", "abcgh", "abcde", nil},
	} {
		n, err := b.Write([]byte(tt.write))
		if b.String() != tt.buffer || err != tt.err || n != len(tt.write) && err == nil {
			t.Errorf("write %d: the buffer has %q, %d, %v, want %q, %v", i, b.String(), n, err, tt.buffer, tt.err)
		}
		if n, err := p.Write([]byte(tt.write)); string(p.Text) != tt.prefix || err != nil || n != len(tt.write) {
			t.Errorf("write %d: the prefix is %q, %d, %v, want %q", i, p.Text, n, err, tt.prefix)
		}
	}
	if !b.Exceeded {
		t.Error("the buffer does not report the failed write")
	}
	if _, err := io.Copy(&Buffer{Max: 5}, io.LimitReader(strings.NewReader("abcdef"), 6)); !errors.Is(err, errTooMuch) {
		t.Errorf("io.Copy returns %v, want %v", err, errTooMuch)
	}
}

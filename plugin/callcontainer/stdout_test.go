// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"io"
	"strings"
	"testing"
)

func TestStdout(t *testing.T) {
	part := func(of byte, text string) string {
		return string([]byte{of, 0, 0, 0, 0, 0, 0, byte(len(text))}) + text
	}
	for in, want := range map[string]string{
		part(1, "out") + part(2, "err") + part(1, "") + part(1, "put"): "output",
		part(1, "out")[:9]:                       "o",
		part(1, "a") + part(3, "engine's words"): "a",
		"\x01\x00\x00\x00\xff\xff\xff\xffshort":  "short",
	} {
		got, _ := io.ReadAll(&stdout{r: strings.NewReader(in)})
		if string(got) != want {
			t.Errorf("stdout of %q = %q, want %q", in, got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bufio"
	"os"
	"slices"
	"testing"
)

func TestBound(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	writable := []string{"/src", "/a dir\nbound \xff"}
	(&LauncherConn{f: w}).Bound([]string{"careful"}, "commands run in /src", writable)
	c := &Conn{r: bufio.NewReader(r)}
	if err := c.await("bound"); err != nil {
		t.Fatal(err)
	}
	if got := c.Writable(); !slices.Equal(got, writable) {
		t.Errorf("Writable() = %q, want %q", got, writable)
	}
	if got := c.Warnings(); !slices.Equal(got, []string{"careful"}) {
		t.Errorf("Warnings() = %q", got)
	}
	if got := c.CommandDirs(); got != "commands run in /src" {
		t.Errorf("CommandDirs() = %q", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bufio"
	"os"
	"slices"
	"strings"
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
	if _, err := c.awaitValue("bound"); err != nil {
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

// TestWaitEnd: the end of a watcher that was killed is an error. The proxy ended with exit code 0 then.
func TestWaitEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*LauncherConn)
		want string // "": no error
	}{
		{"as asked", func(c *LauncherConn) { c.Warn([]string{"a note"}); c.Ended() }, ""},
		{"watcher killed", func(*LauncherConn) {}, errKilled.Error()},
		{"keeper killed", func(c *LauncherConn) { c.Fail(errKeeper) }, errKeeper.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			tt.end(&LauncherConn{f: w})
			w.Close()
			if err := (&Conn{r: bufio.NewReader(r)}).WaitEnd(func(string) {}); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("WaitEnd = %v, want %q", err, tt.want)
			}
		})
	}
}

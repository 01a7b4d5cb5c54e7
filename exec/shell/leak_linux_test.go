// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// TestLeak runs commands in many shells at once: neither a descriptor nor a file nor a
// process is left of a command, and of the shells nothing is left after Close.
func TestLeak(t *testing.T) {
	r := newRoom(t)
	warm := r.shell(t, "warm")
	r.text(t, warm, ":")
	fds := count(t, "/proc/self/fd")
	var wg sync.WaitGroup
	for i := range shells {
		s := r.shell(t, fmt.Sprint("s", i))
		// ends with its commands; waited for below.
		wg.Go(func() {
			for n := range commands {
				got := r.do(t.Context(), s, Command{Text: `((n++)); echo $n`})
				if want := fmt.Sprintln(n + 1); got.out != want || got.failed != nil {
					t.Errorf("shell %d: %+v, want %q", i, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
	if now := count(t, "/proc/self/fd"); now > fds+2*shells { // what it reads from, and its pidfd
		t.Errorf("%d descriptors for %d shells, %d before", now, shells, fds)
	}
	for _, dir := range []string{r.Dir, r.Dir + "/done"} {
		if left := count(t, dir); left > 1 {
			t.Errorf("%d files are left in %s", left, dir)
		}
	}
	for _, i := range r.List() {
		kids, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", i.PID, i.PID))
		if err == nil && len(kids) > 0 {
			t.Errorf("shell %s has left %s", i.Name, kids)
		}
		r.Remove(i.Name)
	}
	eventually(t, "the shells' descriptors are closed", func() bool { return count(t, "/proc/self/fd") <= fds })
}

func count(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	check(t, err)
	return len(list)
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// TestLeak runs commands in many shells at once. A command leaves no descriptor, file or process, and the shells leave
// nothing after Close.
func TestLeak(t *testing.T) { forEachBackend(t, testLeak) }

func testLeak(t *testing.T, r *fixture) {
	warm := r.shell(t, "warm")
	r.text(t, warm, ":")
	fds := count(t, "/proc/self/fd")
	var wg sync.WaitGroup
	shells, commands := exectest.Scaled(100, 20), exectest.Scaled(100, 10)
	each := 3 // descriptors of this process for a shell: the pipe that it reads from, its pidfd, and its supervisor
	if r.remote() {
		shells, commands = shells/5, commands/5 // processes, and descriptors
	}
	if r.config.Sandbox != nil {
		each = 2 + 2 + 1 + 3 // pipes, pidfd and supervisor, the calls that it answers, and the directories of the sandbox
	}
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
	eventually(t, fmt.Sprintf("%d shells have %d descriptors each, besides the %d before", shells, each, fds), func() bool {
		return count(t, "/proc/self/fd") <= fds+each*shells
	})
	dirs := map[string]int{r.Dir: kept, r.Dir + "/done": 0}
	if r.remote() {
		dir := filepath.Join(containerDirs(r, warm)[0], "shells")
		dirs = map[string]int{dir: kept, dir + "/done": 0}
	}
	for dir, most := range dirs {
		eventually(t, fmt.Sprintf("%d files in %s", most, dir), func() bool { return count(t, dir) <= most })
	}
	for _, i := range r.List() {
		if children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", i.PID, i.PID)); err != nil || len(children) > 0 {
			t.Errorf("shell %s has children: %q, %v", i.Name, children, err)
		}
		s, err := r.Find(i.Name)
		check(t, err)
		r.Remove(i.Name)
		for _, dir := range containerDirs(r, s) {
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s of shell %s is left: %v", dir, i.Name, err)
			}
		}
	}
	eventually(t, "the shells' descriptors are closed", func() bool { return count(t, "/proc/self/fd") <= fds })
}

// kept is how many entries a table keeps in its directory: done, the files of the next command, and a script.
const kept = 1 + 3 + 1

// containerDirs are the directories that the program of a shell has: of its output, and of itself.
func containerDirs(r *fixture, s *Shell) []string {
	p, ok := s.process.(*remoteProcess)
	if !ok {
		return nil
	}
	return []string{filepath.Join(r.tmp, outputDir(p.id)), filepath.Join(r.tmp, "hostexec-"+p.id)}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	check(t, err)
	return len(list)
}

// SPDX-License-Identifier: Apache-2.0

package container

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// requestDirs returns the directories of requests of a session with one command, with the file .heartbeat.
func requestDirs(t *testing.T) (*os.Root, requestLimit) {
	t.Helper()
	at := t.TempDir()
	if err := errors.Join(os.Mkdir(at+"/make", 0o777), os.WriteFile(at+"/make/.heartbeat", nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, requestLimit{calls: &watch.Calls{Server: &call.Server{}}, log: slog.New(slog.DiscardHandler)}
}

// TestChanges checks that each way to take disk space in an empty directory of requests is reported. Without such
// a report, nobody would measure the directory.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(dir string, open *os.File) error
	}{
		{"a file", func(dir string, _ *os.File) error { return os.WriteFile(dir+"/fill", nil, 0o600) }},
		{"a directory", func(dir string, _ *os.File) error { return os.Mkdir(dir+"/a", 0o700) }},
		{"a directory beside", func(dir string, _ *os.File) error { return os.Mkdir(filepath.Dir(dir)+"/a", 0o700) }},
		{"a file from elsewhere", func(dir string, _ *os.File) error {
			from := filepath.Dir(filepath.Dir(dir)) + "/elsewhere"
			return errors.Join(os.WriteFile(from, []byte("x"), 0o600), os.Rename(from, dir+"/x"))
		}},
		{"another name of a file", func(dir string, open *os.File) error { return os.Link(open.Name(), dir+"/again") }},
		{"a write", func(_ string, open *os.File) error { _, err := open.WriteString("x"); return err }},
		{"a write to a removed file", func(_ string, open *os.File) error {
			if err := os.Remove(open.Name()); err != nil {
				return err
			}
			_, err := open.WriteString("x")
			return err
		}},
		{"a truncation to more", func(_ string, open *os.File) error { return open.Truncate(1 << 20) }},
		{"blocks beyond the end", func(_ string, open *os.File) error {
			return unix.Fallocate(int(open.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20)
		}},
		{"a mode", func(dir string, _ *os.File) error { return os.Chmod(dir, 0o700) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, _ := requestDirs(t)
			dir := root.Name() + "/make"
			open, err := os.OpenFile(dir+"/.heartbeat", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer open.Close()
			c := newChanges()
			defer c.close()
			if !c.begin(root) || c.changed() {
				t.Fatal("nothing is reported here, or something that did not happen")
			}
			if err := tt.change(dir, open); err != nil {
				t.Fatal(err)
			}
			c.wait(t.Context()) // a change that is not reported blocks the test
			if !c.begin(root) || c.changed() {
				t.Error("after that, a change of before is reported again")
			}
		})
	}
}

// TestMeasureEmpty checks that directories are empty only if every growth is a change that is reported.
func TestMeasureEmpty(t *testing.T) {
	for _, tt := range []struct {
		name    string
		plant   func(at string) error
		removed bool // a removed file is open
		want    bool
	}{
		{"nothing", func(string) error { return nil }, false, true},
		{"an empty file", func(at string) error { return os.WriteFile(at+"/make/x.req", nil, 0o600) }, false, true},
		{"a directory of requests more", func(at string) error { return os.Mkdir(at+"/a", 0o700) }, false, true},
		{"data", func(at string) error { return os.WriteFile(at+"/make/x", []byte("x"), 0o600) }, false, false},
		{"a hole", func(at string) error {
			return errors.Join(os.WriteFile(at+"/make/x", nil, 0o600), os.Truncate(at+"/make/x", 1<<20))
		}, false, false},
		{"a directory below", func(at string) error { return os.Mkdir(at+"/make/a", 0o700) }, false, false},
		{"a removed file", func(string) error { return nil }, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, limits := requestDirs(t)
			if err := tt.plant(root.Name()); err != nil {
				t.Fatal(err)
			}
			m, err := limits.measure(root, usage{empty: !tt.removed})
			if err != nil || m.empty != tt.want {
				t.Errorf("empty = %v, %v, want %v", m.empty, err, tt.want)
			}
		})
	}
}

// TestMeasureNames checks that a directory counts, and is cleared, also if its name is not UTF-8. fs.WalkDir has left
// it out, so a container could fill the disk there.
//
// Attack 285.
func TestMeasureNames(t *testing.T) {
	for _, below := range []string{"\xff", "make/\xff", "make/a/\xff/b"} {
		t.Run(strconv.QuoteToASCII(below), func(t *testing.T) {
			root, limits := requestDirs(t)
			at := filepath.Join(root.Name(), below)
			if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(at+"/fill", make([]byte, 1<<20), 0o600)); err != nil {
				t.Fatal(err)
			}
			m, err := limits.measure(root, usage{empty: true})
			if err != nil || m.empty || m.bytes < 1<<20 {
				t.Errorf("measure = %+v, %v, want a MiB", m, err)
			}
			clearRequests(root)
			if m, err := limits.measure(root, usage{empty: true}); err != nil || !m.empty {
				t.Errorf("after clearRequests: measure = %+v, %v, want nothing", m, err)
			}
			if _, err := os.Stat(root.Name() + "/make"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMeasureEntries checks that files count for limits.requests in a directory whose name is not UTF-8.
//
// Attack 285.
func TestMeasureEntries(t *testing.T) {
	root, limits := requestDirs(t)
	at := root.Name() + "/make/\xff"
	err := os.Mkdir(at, 0o700)
	for i := range 100 {
		err = errors.Join(err, os.WriteFile(at+"/"+strconv.Itoa(i), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	limits.calls.Server.Limits.Adjust(limit.Limits{limit.Requests: 50})
	if _, err := limits.measure(root, usage{}); err == nil || errors.Is(err, errUnmeasured) {
		t.Errorf("measure: %v, want limits.requests", err)
	}
}

// TestMeasureLargeLimit checks that a large limits.spool is a large limit, although a quarter more does not fit an int64.
func TestMeasureLargeLimit(t *testing.T) {
	root, limits := requestDirs(t)
	limits.calls.Server.Limits.Adjust(limit.Limits{limit.Spool: math.MaxInt64})
	if _, err := limits.measure(root, usage{}); err != nil {
		t.Errorf("measure: %v", err)
	}
}

// TestMeasureDeep checks that nested directories do not make a measurement slow: below watch.MaxDepth they count as too
// much. With paths, a measurement of 4000 took 39 seconds, and the next came six minutes later.
//
// Attack 286.
func TestMeasureDeep(t *testing.T) {
	for depth, want := range map[int]error{watch.MaxDepth - 1: nil, 4000: errUnmeasured} {
		root, limits := requestDirs(t)
		nest(t, root, depth)
		began := time.Now()
		if _, err := limits.measure(root, usage{}); !errors.Is(err, want) {
			t.Errorf("depth %d: measure: %v, want %v", depth, err, want)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("depth %d: measure took %v", depth, took)
		}
		clearRequests(root)
		if list, err := os.ReadDir(root.Name() + "/make"); err != nil || len(list) > 0 {
			t.Errorf("depth %d: after clearRequests: %v, %v", depth, list, err)
		}
	}
}

// nest makes a directory in root/make, in this one another one, and so on.
func nest(t *testing.T, root *os.Root, depth int) {
	t.Helper()
	d, err := root.OpenRoot("make")
	for i := 0; i < depth && err == nil; i++ {
		var next *os.Root
		if err = d.Mkdir("d", 0o700); err == nil {
			next, err = d.OpenRoot("d")
		}
		d.Close()
		d = next
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// TestClearDeep clears directories that are nested deeper than this process can open files. They could not be removed,
// because each level took a descriptor.
//
// Attack 286.
func TestClearDeep(t *testing.T) {
	root, limits := requestDirs(t)
	nest(t, root, 4000)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3 * watch.MaxDepth, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	clearRequests(root)
	if m, err := limits.measure(root, usage{empty: true}); err != nil || !m.empty {
		t.Errorf("after clearRequests: measure = %+v, %v, want nothing", m, err)
	}
}

// TestWaitAfter checks that the time between two measurements has a limit, which a container cannot exceed.
//
// Attack 286.
func TestWaitAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: diskPoll, 100 * time.Millisecond: time.Second, time.Minute: maxWait} {
		if got := waitAfter(took); got != want {
			t.Errorf("waitAfter(%v) = %v, want %v", took, got, want)
		}
	}
}

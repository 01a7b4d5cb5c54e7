// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// byFiles runs a shim in an empty directory. answer acts as the host once the request exists; base
// is the path of the call's files up to the id.
func byFiles(t *testing.T, answer func(base string) error, env ...string) (c *shim, out *bytes.Buffer, dir string) {
	t.Helper()
	return byFilesFrom(t, nil, answer, env...)
}

// byFilesFrom is byFiles with a stdin, unless that is nil.
func byFilesFrom(t *testing.T, stdin *os.File, answer func(base string) error, env ...string) (c *shim, out *bytes.Buffer, dir string) {
	t.Helper()
	s := &fakeHost{t: t, dir: t.TempDir()}
	dir = t.TempDir()
	c, out = s.command("make", "a b", ""), &bytes.Buffer{}
	c.Stdout, c.Stderr = out, &c.stderr
	if stdin != nil {
		c.Stdin = stdin
	}
	c.Env = append(append(c.Env, "PROXY_DIR="+dir, "TERM=dumb", "SECRET=x"), env...)
	c.start()
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, "*.req")); len(found) > 0 {
			base := strings.TrimSuffix(found[0], ".req")
			if err := answer(base); err != nil {
				t.Fatal(err)
			}
			return c, out, dir
		}
	}
	t.Fatal("no request comes")
	return nil, nil, ""
}

// waitFor waits until a file exists.
func waitFor(file string) (err error) {
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(time.Millisecond) {
		if _, err = os.Stat(file); err == nil {
			return nil
		}
	}
	return err
}

// answer writes the files of a host, the exit file last.
func answer(stdout, status, exit string) func(base string) error {
	return func(base string) error {
		err := os.Remove(base + ".req")
		for _, f := range [...][2]string{{".stdout", stdout}, {".stderr", ""}, {".new", exit + status}} {
			err = errors.Join(err, os.WriteFile(base+f[0], []byte(f[1]), 0o600))
		}
		return errors.Join(err, os.Remove(base+".cmd"), os.Rename(base+".new", base+".exit"))
	}
}

func status(status, signal string) string {
	return `{"status":"` + status + `","code":9,"signal":"` + signal + `","stdout":3,"stderr":0,"stdin":0,"reason":"\"code\":0,"}` + "\n"
}

// TestFiles makes calls by files and checks the exit code for each result of the host.
//
// Attack 163.
func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name, status, exit string
		code               int
		says               string
	}{
		{"success", status("exited", ""), "0\n", 0, ""},
		{"failure", status("exited", ""), "42\n", 42, ""},
		{"a refusal", status("refused", ""), "126\n", 126, ""},
		{"success that the status denies", status("failed", ""), "0\n", 125, ""},
		{"a reason that is not in stderr", `{"status":"failed","code":125,"signal":"","stdout":3,"stderr":0,"stdin":0,"untold":true,"reason":"hostexec: no space left, in \"x\"\nhostexec: hint: y"}` + "\n", "125\n",
			125, "hostexec: no space left, in \"x\"\nhostexec: hint: y\n"},
		{"no number", status("exited", ""), "zero\n", 125, "makes no sense"},
		{"no code", status("exited", ""), "256\n", 125, "makes no sense"},
		{"nothing", status("exited", ""), "\n", 125, "makes no sense"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, out, dir := byFiles(t, answer("out", tt.status, tt.exit))
			c.wantExit(tt.code)
			if out.String() != "out" || !strings.Contains(c.stderr.String(), tt.says) || (tt.says == "") != (c.stderr.Len() == 0) {
				t.Errorf("stdout %q, stderr %q, want out and %q", out, &c.stderr, tt.says)
			}
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
	t.Run("a signal", func(t *testing.T) {
		c, _, _ := byFiles(t, answer("out", status("signaled", "TERM"), "143\n"))
		if st := c.status(); st.Signal() != syscall.SIGTERM {
			t.Errorf("it ended with %v", st)
		}
	})
}

// TestFilesPrompt: a caller at a terminal learns why a prompt may have failed. No command by files has one.
func TestFilesPrompt(t *testing.T) {
	master, line, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer line.Close()
	for _, tt := range []struct {
		stdin *os.File
		code  int
		want  bool
	}{{line, 128, true}, {line, 255, true}, {line, 2, false}, {line, 0, false}, {nil, 128, false}} {
		c, _, _ := byFilesFrom(t, tt.stdin, answer("out", status("exited", ""), strconv.Itoa(tt.code)+"\n"))
		c.wantExit(tt.code)
		if got := strings.Contains(c.stderr.String(), "hint: "); got != tt.want {
			t.Errorf("code %d, a terminal %v: it says %q", tt.code, tt.stdin != nil, &c.stderr)
		}
	}
}

// TestFilesRequest checks the request files. They must not contain more variables than the host needs.
func TestFilesRequest(t *testing.T) {
	var request, cmdFile []byte
	c, _, dir := byFiles(t, func(base string) error {
		var e1, e2 error
		request, e1 = os.ReadFile(base + ".req")
		cmdFile, e2 = os.ReadFile(base + ".cmd")
		return errors.Join(e1, e2, answer("out", status("exited", ""), "0\n")(base))
	}, "HOSTEXEC_TIMEOUT=1h")
	c.wantExit(0)
	here, err := os.Getwd()
	if want := "make\x00cwd=" + here + "\x00alive=1\x00exit=status\x00env=TERM=dumb\x00env=HOSTEXEC_TIMEOUT=1h\x00"; err != nil || string(cmdFile) != want {
		t.Errorf("the .cmd in %s is %q, want %q", dir, cmdFile, want)
	}
	if want := "a b\x00\x00"; string(request) != want {
		t.Errorf("the request is %q, want %q", request, want)
	}
}

// TestFilesUntrusted puts other kinds of files in place of the host's. The shim must not read them or block.
//
// Attack 163.
func TestFilesUntrusted(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plants := map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink(secret, path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o777) },
	}
	for name, plant := range plants {
		for _, what := range []string{".stdout", ".exit"} {
			t.Run(name+" as "+what, func(t *testing.T) {
				c, out, _ := byFiles(t, func(base string) error { return plant(base + what) })
				c.wantExit(125)
				if out.Len() > 0 || !strings.Contains(c.stderr.String(), "the host's answer cannot be read") {
					t.Errorf("stdout %q, stderr %q", out, &c.stderr)
				}
			})
		}
	}
}

// TestFilesWakeup has a host die before its answer: it closes the named pipe.
func TestFilesWakeup(t *testing.T) {
	c, _, dir := byFiles(t, func(base string) error {
		wakeup, err := os.OpenFile(base+".bell", os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		err = errors.Join(os.Remove(base+".req"), os.WriteFile(base+".stdout", nil, 0o600), os.WriteFile(base+".stderr", nil, 0o600))
		_, werr := wakeup.Write([]byte{0})
		// With .alive, the shim has read the files and waits.
		return errors.Join(err, werr, waitFor(base+".alive"), wakeup.Close())
	})
	c.wantExit(125)
	if !strings.Contains(c.stderr.String(), "the host side went away") {
		t.Errorf("stderr %q", &c.stderr)
	}
	for _, e := range [...]string{"cmd", "stdout", "alive", "bell"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "*."+e)); len(found) > 0 {
			t.Errorf("left is %q", found)
		}
	}
}

// TestFilesSignal ends a caller by a signal. The caller must cancel the call and remove its files.
func TestFilesSignal(t *testing.T) {
	c, _, dir := byFiles(t, func(base string) error {
		err := errors.Join(os.Remove(base+".req"), os.WriteFile(base+".stdout", []byte("out"), 0o600), os.WriteFile(base+".stderr", nil, 0o600))
		return errors.Join(err, waitFor(base+".alive")) // the shim listens to signals by then
	})
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if st := c.status(); st.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v", st)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 1 || !strings.HasSuffix(left[0], ".cancel") {
		t.Fatalf("left are %q", left)
	}
	if text, err := os.ReadFile(left[0]); err != nil || string(text) != "INT" {
		t.Errorf("the host is told %q, %v", text, err)
	}
}

// TestCopyOutputCloses checks that the shim holds no descriptor while only one of the two files of output is there. Each
// poll left one open.
func TestCopyOutputCloses(t *testing.T) {
	f := &files{id: filepath.Join(t.TempDir(), "call"), buf: make([]byte, 1)}
	if err := os.WriteFile(f.id+".stdout", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range all {
			if link, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(link, f.id) {
				n++
			}
		}
		return n
	}
	for range 3 {
		if moved, err := f.copyOutput(); moved || err != nil || open() != 0 {
			t.Fatalf("without stderr: moved %v, %v, %d files are open", moved, err, open())
		}
	}
	if err := os.WriteFile(f.id+".stderr", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if moved, err := f.copyOutput(); !moved || err != nil || open() != 2 {
		t.Errorf("with both: moved %v, %v, %d files are open", moved, err, open())
	}
	for _, fd := range f.fds {
		syscall.Close(fd)
	}
}

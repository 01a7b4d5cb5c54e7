// SPDX-License-Identifier: Apache-2.0

package initproc

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

func TestCalled(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"hostexec"}, false},
		{[]string{"/run/hostexec/.init", "make"}, true},
		{[]string{".init"}, true},
		{[]string{"/.init/make"}, false},
		{[]string{"x.init"}, false},
	} {
		if got := Called(tt.args); got != tt.want {
			t.Errorf("Called(%q) = %v, want %v", tt.args, got, tt.want)
		}
	}
}

// TestNotFirst checks that the program refuses to run outside of a container, because it signals all
// processes.
func TestNotFirst(t *testing.T) {
	if got := Main([]string{t.TempDir() + "/.init"}, nil); got != wire.CodeFailed {
		t.Errorf("code %d, want %d", got, wire.CodeFailed)
	}
}

func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/plain": 0o644, "b/plain": 0o755, "a/only": 0o644, "b/dir/x": 0o755} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := "::.:relative:" + dir + "/none:" + dir + "/a:" + dir + "/b"
	for _, tt := range []struct {
		name, path, want string
		err              error
	}{
		{"plain", path, dir + "/b/plain", nil},
		{"only", path, "", syscall.EACCES},
		{"dir", path, "", syscall.EACCES},
		{"lost", path, "", syscall.ENOENT},
		{"plain", "", "", syscall.ENOENT},
		{dir + "/b/plain", "", dir + "/b/plain", nil},
		{dir + "/a/plain", "", dir + "/a/plain", syscall.EACCES},
		{dir + "/lost", path, dir + "/lost", syscall.ENOENT},
	} {
		if got, err := lookPath(tt.name, tt.path); got != tt.want || err != tt.err {
			t.Errorf("look(%q) = %q, %v, want %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestDecimal(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 10: "10", 4095: "4095"} {
		if got := decimal(n); got != want {
			t.Errorf("decimal(%d) = %q", n, got)
		}
	}
}

func TestOctal(t *testing.T) {
	for s, want := range map[string]int{"": 0, "0": 0, "0022": 0o22, "077": 0o77, "777": 0o777} {
		if got := octal(s); got != want {
			t.Errorf("octal(%q) = %o", s, got)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
)

// TestSourceBelowSource replaces a source that lies in another source, as a container can before it is started again.
//
// Attack 86.
func TestSourceBelowSource(t *testing.T) {
	root := tree(t)
	inner := root + "/w/closed"
	if err := os.Remove(inner); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root+"/secret", inner); err != nil {
		t.Fatal(err)
	}
	table := newTable(t, Default{}, Point{Target: "/x", Source: inner, Bind: true}, Point{Target: "/w", Source: root + "/w", Bind: true})
	if d, err := table.Open("/x/a"); err == nil {
		t.Errorf("Open = %s, want an error", d.Path())
	}
}

// TestHeld checks that a table holds the directory itself, wherever its path leads later.
//
// Attack 84.
func TestHeld(t *testing.T) {
	root := tree(t)
	table := newTable(t, Default{}, Point{Target: "/w", Source: root + "/w", Bind: true})
	if err := os.Rename(root+"/w", root+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root+"/secret", root+"/w"); err != nil {
		t.Fatal(err)
	}
	d, err := table.Open("/w/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pwd", "-P")
	cmd.Dir = "/proc/self/fd/" + strconv.Itoa(d.FD())
	if out, err := cmd.Output(); string(out) != root+"/moved/a\n" {
		t.Errorf("pwd = %q, %v, want %q", out, err, root+"/moved/a\n")
	}
	if _, err := table.Open("/w"); err == nil {
		t.Error("Open after Close = nil, want an error")
	}
	if err := errors.Join(d.Close(), d.Close(), table.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Attack 87.
func TestDeletedRoot(t *testing.T) {
	root := tree(t)
	table := newTable(t, Default{}, Point{Target: "/n", Source: root + "/nested", Bind: true})
	if err := os.RemoveAll(root + "/nested"); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Open("/n"); !errors.Is(err, dir.ErrDeleted) {
		t.Errorf("Open = %v, want %v", err, dir.ErrDeleted)
	}
}

// TestUnreadable checks as an ordinary user that a directory without permissions is refused.
//
// Attack 87.
func TestUnreadable(t *testing.T) {
	root := tree(t)
	if err := os.Chmod(root+"/w/closed", 0o600); err != nil {
		t.Fatal(err)
	}
	for p := root; p != "/tmp" && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", root+"/w")
	cmd.Env = append(os.Environ(), "MOUNT_TEST_AS=user")
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.Output()
	if want := `open directory "/w/closed": permission denied`; err != nil || string(out) != want {
		t.Errorf("Open as a user: %q, %v, want %q", out, err, want)
	}
}

func openAsUser(source string) {
	table, err := NewTable([]Point{{Target: "/w", Source: source, Bind: true}}, Default{})
	if err == nil {
		_, err = table.Open("/w/closed")
	}
	fmt.Print(err)
}

// TestRacingExchange exchanges a directory again and again with a link to the outside while it is opened. Some opens have
// to succeed, because otherwise the test would prove nothing.
//
// Attack 84.
func TestRacingExchange(t *testing.T) {
	root := tree(t)
	onBothKernels(t, func(t *testing.T) {
		dirtest.Exchange(t, root+"/w/a", root+"/w/out")
		table := newTable(t, Default{}, Point{Target: "/w", Source: root + "/w", Bind: true})
		var inside, refused int
		var inner unix.Stat_t
		if err := unix.Stat(root+"/w", &inner); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 20000 || inside == 0 || refused == 0; i++ {
			d, err := table.Open("/w/a/b")
			if err != nil {
				refused++
				continue
			}
			inside++
			if !strings.HasPrefix(d.Path(), root+"/w/") {
				t.Fatalf("escaped to %s", d.Path())
			}
			d.Close()
		}
		t.Logf("opened %d, refused %d, escaped 0", inside, refused)
	})
}

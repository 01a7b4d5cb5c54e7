// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestBindRace replaces the socket by a link to another file, again and again, while the socket is
// bound. The file keeps its mode and content. The test fails if only one side ever wins the race.
//
// Attack 17.
func TestBindRace(t *testing.T) {
	if at := os.Getenv("HOSTEXEC_BIND_RACE"); at != "" {
		exchange(at, at+".victim")
		os.Exit(0) // the test's child, the attacker
	}
	share := t.TempDir()
	at := filepath.Join(share, Name)
	victim := at + ".victim"
	if err := os.WriteFile(victim, []byte("sings\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	attacker := exec.Command(os.Args[0], "-test.run=^TestBindRace$")
	attacker.Env = append(os.Environ(), "HOSTEXEC_BIND_RACE="+at)
	hold, err := attacker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := attacker.Start(); err != nil {
		t.Fatal(err)
	}
	bound, exchanged := 0, 0
	for deadline := time.Now().Add(time.Minute); (bound < 200 || exchanged < 20) && time.Now().Before(deadline); {
		var ln *net.UnixListener
		if ln, err = Bind(share, Name, 0o666); err == nil {
			bound++
			fi, err := os.Lstat(at)
			if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
				exchanged++
			} else if fi.Mode()&fs.ModeSocket != 0 && fi.Mode().Perm() != 0o666 {
				t.Fatalf("the socket's mode is %v", fi.Mode())
			}
			ln.Close()
		}
		if fi, err := os.Lstat(victim); err != nil || fi.Mode() != 0o600 {
			t.Fatalf("the victim is %v, %v, after %d", fi, err, bound)
		}
	}
	t.Logf("%d were bound, %d exchanged after that", bound, exchanged)
	if bound < 200 || exchanged < 20 {
		t.Errorf("%d were bound, %d exchanged: there was no race", bound, exchanged)
	}
	hold.Close()
	if err := attacker.Wait(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(victim); string(text) != "sings\n" || err != nil {
		t.Errorf("the victim has %q, %v", text, err)
	}
}

// exchange puts a link to victim into the place of whatever is at, until stdin ends.
func exchange(at, victim string) {
	ended := make(chan struct{})
	// ends with stdin, which ends with the test.
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return
		default:
		}
		if fi, err := os.Lstat(at); err == nil && fi.Mode()&fs.ModeSocket != 0 {
			os.Remove(at)
			os.Symlink(victim, at)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package page

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSnapOf(t *testing.T) {
	for _, tt := range []struct{ program, entry, want string }{
		{"", "firefox_firefox.desktop", "firefox"}, {"", "chromium_chromium.desktop", "chromium"}, {"", "firefox_dev_firefox.desktop", "firefox_dev"},
		{"", "firefox.desktop", ""}, {"", "org.mozilla.firefox.desktop", ""}, {"", "", ""}, {"", "../x_y.desktop", ""}, {"", "x/y_z.desktop", ""},
		{"/snap/bin/chromium", "firefox.desktop", "chromium"}, {"/snap/bin/firefox %s:w3m", "", "firefox"}, {"/usr/bin/firefox", "", ""}, {"/snap/bin/opera.beta", "", "opera"},
	} {
		if got := browserSnap(tt.program, tt.entry); got != tt.want {
			t.Errorf("snapOf(%q, %q) = %q, want %q", tt.program, tt.entry, got, tt.want)
		}
	}
}

// TestSnapDir checks that a snap's directory is used only if other users cannot write it.
func TestSnapDir(t *testing.T) {
	runtime, home := t.TempDir(), "/home/you/.docker/hostexec"
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(runtime, "snap.firefox")
	if got := snapDir(runtime, "firefox", home); got != dir {
		t.Errorf("it is %s, want %s", got, dir)
	}
	for name, open := range map[string]string{"the snap's directory": dir, "the runtime directory": runtime} {
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		if got := snapDir(runtime, "firefox", home); got != home {
			t.Errorf("%s can be written by all, and the file goes into %s", name, got)
		}
		if err := os.Chmod(open, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home, filepath.Join(runtime, "snap.planted")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ runtime, snap string }{{runtime, ""}, {"", "firefox"}, {"run", "firefox"}, {runtime + "/no", "firefox"}, {runtime, "planted"}} {
		if got := snapDir(tt.runtime, tt.snap, home); got != home {
			t.Errorf("snapDir(%q, %q) = %s, want %s", tt.runtime, tt.snap, got, home)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	for name, age := range map[string]time.Duration{"old": 2 * codeLifetime, "young": 0} {
		file := filepath.Join(dir, "docker-hostexec-ui-"+name+".html")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if got := staleFiles(); len(got) != 1 || filepath.Base(got[0]) != "docker-hostexec-ui-old.html" {
		t.Errorf("stale are %q", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// TestPrivateDirectories checks existing request directories: those that other users can use are
// refused, and the message gives the command that helps.
//
// Attack 126.
func TestPrivateDirectories(t *testing.T) {
	const me, root, other = 1000, 0, 65534
	for _, tt := range []struct {
		name       string
		parent     dir.Step
		box        dir.Step
		says, hint string
	}{
		{"as they are made", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: me, Mode: 0o700}, "", ""},
		{"a parent that can be passed", dir.Step{UID: me, Mode: 0o755}, dir.Step{UID: me, Mode: 0o700}, "", ""},
		{"a parent of root's", dir.Step{UID: root, Mode: 0o755}, dir.Step{UID: me, Mode: 0o700}, "", ""},
		{"a sticky parent", dir.Step{UID: root, Mode: 0o777 | fs.ModeSticky}, dir.Step{UID: me, Mode: 0o700}, "", ""},
		{"more private than needed", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: me, Mode: 0o300}, "", ""},
		{"open to all", dir.Step{UID: me, Mode: 0o711}, dir.Step{UID: me, Mode: 0o777}, "requests in /p/x: other users can use it (mode 0777)", "chmod 700 /p/x, or open it to all of them with --any-user"},
		{"to be read", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: me, Mode: 0o755}, "requests in /p/x: other users can enter it (mode 0755), and would see", "chmod 700 /p/x"},
		{"to be entered", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: me, Mode: 0o701}, "(mode 0701)", "chmod 700 /p/x"},
		{"open to the group", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: me, Mode: 0o770}, "(mode 0770)", "chmod 700 /p/x"},
		{"open and sticky", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: me, Mode: 0o777 | fs.ModeSticky}, "(mode 1777)", "use a directory of your own, such as --dir /p/x/requests"},
		{"/tmp", dir.Step{UID: root, Mode: 0o755}, dir.Step{UID: root, Mode: 0o777 | fs.ModeSticky}, "(mode 1777)", "use a directory of your own, such as --dir /p/x/requests"},
		{"a parent in which it can be replaced", dir.Step{UID: me, Mode: 0o777}, dir.Step{UID: me, Mode: 0o700}, "requests in /p: other users can use it (mode 0777)", "chmod 700 /p"},
		{"somebody else's", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: other, Mode: 0o700}, "requests in /p/x: it belongs to uid 65534, not to you (uid 1000)", "chown 1000 /p/x"},
		{"root's", dir.Step{UID: me, Mode: 0o700}, dir.Step{UID: root, Mode: 0o700}, "it belongs to uid 0", "chown 1000 /p/x"},
		{"a parent of somebody else's", dir.Step{UID: other, Mode: 0o755}, dir.Step{UID: me, Mode: 0o700}, "requests in /p: it belongs to uid 65534", "chown 1000 /p"},
	} {
		tt.parent.Path, tt.box.Path = "/p", "/p/x"
		err := refuseShared([]dir.Step{tt.parent, tt.box}, me)
		if (err == nil) != (tt.says == "") || err != nil && !(strings.Contains(err.Error(), tt.says) && strings.Contains(err.Error(), "\nhint: "+tt.hint)) {
			t.Errorf("%s: %v, want %q and the hint %q", tt.name, err, tt.says, tt.hint)
		}
	}
}

// TestAnyUserWarnings checks the warnings of --any-user: the paths that it opens, and those that it
// cannot open.
func TestAnyUserWarnings(t *testing.T) {
	got := strings.Join(openNotes([]dir.Step{{Path: "/p", Mode: 0o700}, {Path: "/p/x", Mode: 0o777}}), "\n")
	for _, want := range []string{"warning: --any-user: every user of this host who can enter /p/x runs these commands as you", "other users cannot use /p (mode 0700): chmod 711 /p"} {
		if !strings.Contains(got, want) {
			t.Errorf("notes %q, want %q", got, want)
		}
	}
}

// TestReplaceable warns of a directory above the requests in which every user can rename.
func TestReplaceable(t *testing.T) {
	base := t.TempDir()
	at := filepath.Join(base, "open", "in")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o700: false, 0o775: false, 0o777: true, 0o777 | fs.ModeSticky: false} {
		if err := os.Chmod(filepath.Join(base, "open"), mode); err != nil {
			t.Fatal(err)
		}
		if got := replaceableWarnings(at); (len(got) > 0) != want || want && !strings.Contains(got[0], "chmod o-w "+filepath.Join(base, "open")) {
			t.Errorf("below mode %v: %q, want a warning: %v", mode, got, want)
		}
	}
}

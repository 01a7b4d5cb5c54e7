// SPDX-License-Identifier: Apache-2.0

package container

import (
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// TestPlaceOf checks mounts of a running container as the kernel lists them. The name of a mount
// source is not trusted; its location in the file system is.
//
// Attacks 119, 196.
func TestPlaceOf(t *testing.T) {
	const home = "/home/me/state"
	share := mount.FSPath{Dev: "8:1", Root: home + "/sessions/1/share"}
	requests := mount.FSPath{Dev: "8:1", Root: home + "/sessions/1/proxy"}
	l := &protectedFiles{stateDir: home, stateLocation: mount.Location{Path: home, FSPath: mount.FSPath{Dev: "8:1", Root: home}}}
	l.refused = []protectedPath{{
		watch.ProtectedFile{Path: "/usr/bin/tool", Does: "--proxy tool runs", OnMount: watch.RefuseWritable, Instead: "proxy another"},
		mount.Resolution{{Path: "/usr/bin/tool", FSPath: mount.FSPath{Dev: "254:0", Root: "/usr/bin/tool"}}, {Path: "/usr/bin", FSPath: mount.FSPath{Dev: "254:0", Root: "/usr/bin"}}},
	}}
	for _, tt := range []struct{ line, says string }{
		{"9 1 0:52 / / rw - overlay overlay rw", ""},
		{"9 1 254:0 /var/lib/docker/containers/1/hosts /etc/hosts rw - ext4 /dev/vda rw", ""},
		{"9 1 8:1 /home/me/work /w rw - ext4 /dev/sda1 rw", ""},
		{"9 1 8:2 /home/me/state /w rw - ext4 /dev/sda2 rw", ""},
		{"9 1 8:1 /home/me/state /w ro - ext4 /dev/sda1 rw", "at /w in the container covers hostexec's own state"},
		{"9 1 8:1 / /w ro - ext4 /dev/sda1 rw", "covers hostexec's own state"},
		{"9 1 8:1 /home/me/state/sessions/2/share /w ro - ext4 /dev/sda1 rw", "covers hostexec's own state"},
		{"9 1 8:1 /home/me/state/sessions/1 /w ro - ext4 /dev/sda1 rw", "covers hostexec's own state"},
		{"9 1 8:1 /home/me/state/sessions/1/share /run/hostexec ro,nosuid - ext4 /dev/sda1 rw", ""},
		{"9 1 8:1 /home/me/state/sessions/1/share /run/hostexec rw - ext4 /dev/sda1 rw", "could change its own share"},
		{"8 1 8:1 /home/me/state/sessions/1/share /run/hostexec rw - ext4 /dev/sda1 rw\n9 8 8:1 /home/me/state/sessions/1/share /run/hostexec ro - ext4 /dev/sda1 rw", ""},
		{"8 1 8:1 /home/me/state/sessions/1/share /run/hostexec ro - ext4 /dev/sda1 rw\n9 8 8:1 /home/me/state/sessions/1/share /run/hostexec rw - ext4 /dev/sda1 rw", "could change its own share"},
		{"8 1 8:1 /home/me/state/sessions/1/share /run/hostexec rw - ext4 /dev/sda1 rw\n9 8 8:2 / /run/hostexec ro - ext4 /dev/sda2 rw", "could change its own share"},
		{"8 1 254:0 /usr/bin /w rw - ext4 /dev/vda rw\n9 8 254:0 /usr/bin /w ro - ext4 /dev/vda rw", ""},
		{"9 1 8:1 /home/me/state/sessions/1/proxy /run/hostexec/proxy rw - ext4 /dev/sda1 rw", ""},
		{"9 1 254:0 /usr/bin /w rw - ext4 /dev/vda rw", "could change /usr/bin/tool, which --proxy tool runs, through the mount of what the container has at /w"},
		{"9 1 254:0 /usr/bin /w ro - ext4 /dev/vda rw", ""},
		{"9 1 254:0 /usr/lib /w rw - ext4 /dev/vda rw", ""},
	} {
		err := l.refuseMounts(tt.line, share, []mount.FSPath{share, requests})
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.line, err, tt.says)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

// TestVolumeOfState uses volumes that showed the state directory to a container, and volumes without host files.
//
// Attack 194.
func TestVolumeOfState(t *testing.T) {
	type opts = map[string]string
	for _, tt := range []struct {
		name, driver string
		opts         opts
		want         string // type:source of m, and of its parts; - marks read-only ones
	}{
		{"a plain one", "local", nil, "volume:its"},
		{"a size", "", opts{"size": "1g"}, "volume:its"},
		{"a directory", "local", opts{"type": "none", "o": "rw,bind", "device": "/home/me"}, "bind:/home/me"},
		{"with its mounts", "", opts{"o": "rbind", "device": "/home/me"}, "bind:/home/me"},
		{"a relative one", "local", opts{"type": "none", "o": "bind", "device": "tmp/../home/me"}, "bind:/home/me"},
		{"one that climbs", "", opts{"o": "bind", "device": "../../home/me"}, "bind:/home/me"},
		{"the root, by no name", "", opts{"o": "bind"}, "bind:/"},
		{"a directory that says it is in memory", "", opts{"type": "tmpfs", "o": "size=1m,bind", "device": "/home/me"}, "bind:/home/me"},
		{"a directory that says it is elsewhere", "", opts{"type": "nfs", "o": "addr=1.2.3.4,rbind", "device": "/home/me"}, "bind:/home/me"},
		{"a name that has bind in it", "", opts{"type": "ext4", "o": "rw,nobind", "device": "/dev/sdb1"}, "volume:its /dev/sdb1"},
		{"an overlay", "", opts{"type": "overlay", "device": "overlay", "o": "lowerdir=/home/me:/usr"}, "volume:its -/home/me -/usr /overlay"},
		{"all of one", "", opts{"type": "overlay", "device": "x", "o": "rw,lowerdir=/a::/b,upperdir=/c=d,workdir=e/f"}, "volume:its -/a -/b /c=d /e/f /x"},
		{"one directory after the other", "", opts{"type": "overlay", "o": "lowerdir+=/a,datadir+=/b"}, "volume:its -/a -/b"},
		{"a colon in a name", "", opts{"type": "overlay", "o": `lowerdir=/home\:me:/usr`}, "volume:its ?"},
		{"a comma in a name", "", opts{"type": "overlay", "o": `lowerdir=/home\,me`}, "volume:its ?"},
		{"a disk", "", opts{"type": "ext4", "device": "/dev/sda1"}, "volume:its /dev/sda1"},
		{"the host's processes", "", opts{"type": "proc", "device": "any"}, "volume:its /proc"},
		{"memory", "", opts{"type": "tmpfs", "device": "tmpfs", "o": "size=100m,uid=1000"}, "volume:its"},
		{"a file server", "", opts{"type": "nfs", "device": ":/", "o": "addr=1.2.3.4,rw"}, "volume:its"},
		{"a file server of Windows'", "", opts{"type": "cifs", "device": "//server/share", "o": `username=a\b`}, "volume:its"},
		{"another driver's", "local-persist", opts{"mountpoint": "/home/me"}, "volume:its /home/me"},
		{"one of another host's", "vieux/sshfs", opts{"sshcmd": "me@host:/home/me", "o": "bind", "device": "x"}, "volume:its"},
	} {
		m := container.MountPoint{Type: mount.TypeVolume, Name: "v", Source: "its", Destination: "/d", RW: true}
		got := HostFiles(m, tt.driver, tt.opts)
		words := []string{fmt.Sprintf("%s:%s", got[0].Type, got[0].Source)}
		if got[0].Destination != "/d" || !got[0].RW {
			t.Errorf("%s: its mount is %+v", tt.name, got[0])
		}
		for _, p := range got[1:] {
			if p.Destination != "" || p.Type != mount.TypeBind || p.Name != "v" {
				t.Errorf("%s: a part is %+v", tt.name, p)
			}
			if p.Source == "" {
				p.Source = "?"
			}
			if !p.RW {
				p.Source = "-" + p.Source
			}
			words = append(words, p.Source)
		}
		slices.Sort(words[1:])
		want := strings.Fields(tt.want)
		slices.Sort(want[1:])
		if !slices.Equal(words, want) {
			t.Errorf("%s: %q, want %q", tt.name, words, want)
		}
	}
}

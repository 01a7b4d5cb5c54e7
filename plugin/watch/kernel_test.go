// SPDX-License-Identifier: Apache-2.0

package watch

import "testing"

// TestPlaceOf finds what a path is for the kernel: below nested mounts, one on top of another,
// and names with blanks.
func TestPlaceOf(t *testing.T) {
	all := kernelMounts(`27 1 254:0 / / rw - ext4 /dev/vda rw
28 27 0:9 / /home rw - tmpfs x rw
29 27 8:1 /a\040b /home rw - ext4 /dev/sda1 rw
30 29 8:1 /a\040b/me/c\134d /home/me/x\011y ro - ext4 /dev/sda1 rw
short
`)
	for _, tt := range []struct{ path, dev, root string }{
		{"/etc/passwd", "254:0", "/etc/passwd"},
		{"/home", "8:1", "/a b"},
		{"/home/me/.docker", "8:1", "/a b/me/.docker"},
		{"/homes", "254:0", "/homes"},
		{"/home/me/x\ty/z", "8:1", `/a b/me/c\d/z`},
	} {
		if got := placeOf(all, tt.path); got.dev != tt.dev || got.root != tt.root {
			t.Errorf("placeOf(%q) = %q %q, want %q %q", tt.path, got.dev, got.root, tt.dev, tt.root)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"io"
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"
)

// listing is a directory whose listing ends with an error, as one of a network file system may.
type listing struct {
	fs.ReadDirFile
	err error
}

func (l listing) ReadDir(n int) ([]fs.DirEntry, error) {
	list, err := l.ReadDirFile.ReadDir(n)
	return list, cmp.Or(l.err, err)
}

// TestReadEntries checks that a listing without some of the files is an error, because an approval of the files would
// not cover the missing ones.
func TestReadEntries(t *testing.T) {
	files := fstest.MapFS{"d/a": {}, "d/b": {}, "empty": {Mode: fs.ModeDir}}
	for _, tt := range []struct {
		name, dir string
		err       error
		left      int
		want      int
		fails     bool
	}{
		{name: "all entries", dir: "d", left: 5, want: 2},
		{name: "an empty directory", dir: "empty", left: 5},
		{name: "the end", dir: "empty", err: io.EOF, left: 5},
		{name: "an error in the middle", dir: "d", err: syscall.EIO, left: 5, fails: true},
		{name: "an error at the beginning", dir: "empty", err: syscall.ESTALE, left: 5, fails: true},
		{name: "too many entries", dir: "d", left: 1, fails: true},
	} {
		f, err := files.Open(tt.dir)
		if err != nil {
			t.Fatal(err)
		}
		list, err := readEntries(listing{f.(fs.ReadDirFile), tt.err}, &tt.left)
		if (err != nil) != tt.fails || err == nil && len(list) != tt.want {
			t.Errorf("%s: %d entries, error %v, want %d, fails: %v", tt.name, len(list), err, tt.want, tt.fails)
		}
	}
}

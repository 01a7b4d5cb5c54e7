// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveShims checks that the files of attach are removed and other files stay.
func TestRemoveShims(t *testing.T) {
	dir, links := filepath.Join(t.TempDir(), "hostexec"), t.TempDir()
	for _, d := range []string{"bin", "relay"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{dir + "/carrier", dir + "/relay/socket", dir + "/bin/hostexec", links + "/file"} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		dir + "/bin/make": "hostexec", links + "/make": dir + "/bin/make", links + "/git": "/usr/bin/git",
		links + "/hostexec": dir + "/bin/hostexec",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if code := removeShims("hostexec", dir, links, []string{"make", "git", "file", "none"}); code != 0 {
		t.Errorf("removeShims = %d", code)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory: %v", err)
	}
	left, err := filepath.Glob(links + "/*")
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "file" || filepath.Base(left[1]) != "git" {
		t.Errorf("left are %q, %v", left, err)
	}
}

// TestRemoveShimsOthers checks that files of the image in the directory stay, without an error.
func TestRemoveShimsOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hostexec")
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/mine", "/bin/other", "/bin/hostexec", "/bin/make"} {
		if err := os.WriteFile(dir+file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time, there is nothing to do
		if code := removeShims("hostexec", dir, t.TempDir(), []string{"make"}); code != 0 {
			t.Errorf("removeShims = %d", code)
		}
	}
	for file, stays := range map[string]bool{"/mine": true, "/bin/other": true, "/bin/hostexec": false, "/bin/make": false} {
		if _, err := os.Lstat(dir + file); (err == nil) != stays {
			t.Errorf("%s: %v", file, err)
		}
	}
	if code := removeShims("", filepath.Join(dir, "none"), t.TempDir(), nil); code != 0 {
		t.Errorf("of what is not there: %d", code)
	}
}

// TestRemoveShimsLinks checks that a link in place of a directory is not followed.
//
// Attack 218.
func TestRemoveShimsLinks(t *testing.T) {
	for _, name := range []string{"", "/bin", "/relay"} {
		top := t.TempDir()
		theirs, dir := filepath.Join(top, "theirs"), filepath.Join(top, "hostexec")
		for _, d := range []string{theirs + "/bin", theirs + "/relay"} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		files := []string{theirs + "/carrier", theirs + "/bin/make", theirs + "/make", theirs + "/relay/socket", theirs + "/socket"}
		for _, file := range files {
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if name != "" {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(theirs, dir+name); err != nil {
			t.Fatal(err)
		}
		if code := removeShims("hostexec", dir, t.TempDir(), []string{"make"}); code != 0 {
			t.Errorf("%q is a link: leave = %d", name, code)
		}
		for _, file := range files {
			if _, err := os.Lstat(file); err != nil {
				t.Errorf("%q is a link, and was followed: %v", name, err)
			}
		}
	}
}

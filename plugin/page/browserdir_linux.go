// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A browser that is a snap reads nothing below a hidden directory of the home, which the state
// directory usually is. It can read the directory of its own in the user's runtime directory,
// which only the user can write.

// snapRoots are where snaps are mounted; without one no browser is a snap.
var snapRoots = []string{"/snap", "/var/lib/snapd/snap"}

// browserDir returns the directory for the files that open the page: the state directory, unless
// the person's browser cannot read it.
func browserDir(s *state.Store) string {
	for _, root := range snapRoots {
		if _, err := os.Stat(root); err == nil {
			return snapDir(os.Getenv("XDG_RUNTIME_DIR"), snapOf(os.Getenv("BROWSER"), defaultBrowser(s)), s.Home)
		}
	}
	return s.Home
}

// asksDesktop is how long the desktop may take to say which browser it opens.
const asksDesktop = 2 * time.Second

// defaultBrowser is the name of the desktop entry of the person's browser, empty if it is not known.
func defaultBrowser(s *state.Store) string {
	ctx, cancel := context.WithTimeout(context.Background(), asksDesktop)
	defer cancel()
	cmd, err := program(ctx, s, "xdg-settings", "get", "default-web-browser")
	if err != nil {
		return ""
	}
	out, _ := cmd.Output() // it is not known, then
	return strings.TrimSpace(string(out))
}

var (
	snapEntry   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9][a-z0-9_-]*)_[A-Za-z0-9-]+\.desktop$`) })
	snapProgram = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`/snap/bin/([a-z0-9][a-z0-9_-]*)(?:\.[A-Za-z0-9-]+)?(?:[ :]|$)`)
	})
)

// snapOf returns the snap that a browser is, by what BROWSER says or else its desktop entry.
func snapOf(program, entry string) string {
	for _, m := range [][]string{snapProgram().FindStringSubmatch(program), snapEntry().FindStringSubmatch(entry)} {
		if m != nil {
			return m[1]
		}
	}
	return ""
}

// snapDir returns the directory of a snap in runtime, which it makes as the snap itself does when
// it is started. Where others can write it, it returns home.
func snapDir(runtime, snap, home string) string {
	if snap == "" || !filepath.IsAbs(runtime) || state.CheckPrivate(runtime) != nil {
		return home
	}
	dir := filepath.Join(runtime, "snap."+snap)
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) || state.CheckPrivate(dir) != nil {
		return home
	}
	return dir
}

// staleFiles returns the files in other directories that a page has left which was killed. One
// that is not old may be of the page of another state directory.
func staleFiles() (old []string) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "snap.*", filePattern)) // the pattern is good
	for _, file := range files {
		if fi, err := os.Lstat(file); err == nil && time.Since(fi.ModTime()) > codeLife {
			old = append(old, file)
		}
	}
	return old
}

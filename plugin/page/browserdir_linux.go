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

// A browser installed as a snap cannot read files below a hidden directory of the home, where the state
// directory usually is. It can read its own directory in the user's runtime directory, which only the user
// can write.

// snapRoots are the directories where snaps are mounted. Without them, no browser is a snap.
var snapRoots = []string{"/snap", "/var/lib/snapd/snap"}

// browserDir returns the directory for the files that open the page. It is the state directory unless the
// user's browser cannot read it.
func browserDir(s *state.Store) string {
	for _, root := range snapRoots {
		if _, err := os.Stat(root); err == nil {
			return snapDir(os.Getenv("XDG_RUNTIME_DIR"), browserSnap(os.Getenv("BROWSER"), defaultBrowser(s)), s.Home)
		}
	}
	return s.Home
}

// desktopTimeout is the time limit for the query of the default browser.
const desktopTimeout = 2 * time.Second

// defaultBrowser returns the desktop entry name of the user's browser, or "" if it is unknown.
func defaultBrowser(s *state.Store) string {
	ctx, cancel := context.WithTimeout(context.Background(), desktopTimeout)
	defer cancel()
	cmd, err := hostCommand(ctx, s, "xdg-settings", "get", "default-web-browser")
	if err != nil {
		return ""
	}
	out, _ := cmd.Output() // on an error the browser is unknown
	return strings.TrimSpace(string(out))
}

var (
	snapEntry   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9][a-z0-9_-]*)_[A-Za-z0-9-]+\.desktop$`) })
	snapProgram = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`/snap/bin/([a-z0-9][a-z0-9_-]*)(?:\.[A-Za-z0-9-]+)?(?:[ :]|$)`)
	})
)

// browserSnap returns the snap that contains the browser. It checks BROWSER first, then the desktop entry.
func browserSnap(program, entry string) string {
	for _, m := range [][]string{snapProgram().FindStringSubmatch(program), snapEntry().FindStringSubmatch(entry)} {
		if m != nil {
			return m[1]
		}
	}
	return ""
}

// snapDir returns the directory of a snap in runtime, and creates it as the snap itself does on its start.
// If other users can write the directory, it returns home.
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

// staleFiles returns files that a killed page has left in other directories. Recent files are left out,
// because they may belong to the page of another state directory.
func staleFiles() (old []string) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "snap.*", filePattern)) // valid pattern
	for _, file := range files {
		if fi, err := os.Lstat(file); err == nil && time.Since(fi.ModTime()) > codeLifetime {
			old = append(old, file)
		}
	}
	return old
}

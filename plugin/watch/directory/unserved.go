// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// unserved are the directories of requests that cannot be made again, after they were deleted or replaced. Callers can
// cause failures at will, so the pause between messages doubles, and a change of the reason is not reported.
type unserved struct {
	paths map[string]string // the path that a person has to look at, by the directory's first command
	said  time.Time         // when a failure was last reported
	pause time.Duration     // the minimum time from then to the next one
}

// minPause and maxPause are the limits of unserved.pause.
const minPause, maxPause = time.Second, time.Minute

// note notes the result of an attempt at the time now to serve the directory of command. It returns a message for a
// person, or "". path describes the failure err. If it is the reason for several directories, one message is enough.
func (u *unserved) note(command, path string, err error, now time.Time) string {
	before, failed := u.paths[command]
	switch {
	case err == nil:
		delete(u.paths, command)
		if !failed || u.has(before) {
			return ""
		}
		return fmt.Sprintf("the requests in %s are served again", strconv.QuoteToASCII(before))
	case failed:
		return ""
	case u.has(path):
		u.paths[command] = path
		return ""
	case now.Sub(u.said) < u.pause:
		return "" // the next attempt fails, too, or no person has to act
	case now.Sub(u.said) > maxPause:
		u.pause = minPause
	default:
		u.pause = min(2*u.pause, maxPause)
	}
	u.paths[command], u.said = path, now
	return fmt.Sprintf("the requests in %s are not served: %v", strconv.QuoteToASCII(path), err)
}

// has reports whether path is the reason for a directory that is not served.
func (u *unserved) has(path string) bool {
	for _, p := range u.paths {
		if p == path {
			return true
		}
	}
	return false
}

// explainUnserved returns the path because of which the directory at rest below base could not be made again, and the
// reason: a link or a file in place of a directory, or else err.
func explainUnserved(base, rest string, err error) (path string, why error) {
	path = base
	for name := range strings.SplitSeq(rest, string(filepath.Separator)) {
		path = filepath.Join(path, name)
		fi, lerr := os.Lstat(path)
		if lerr != nil {
			break
		}
		found := "is not a directory"
		switch {
		case fi.IsDir():
			continue
		case fi.Mode()&fs.ModeSymlink != 0:
			found = "is a symbolic link"
		}
		return path, fmt.Errorf("it %s\nhint: remove it, or put the directory back: the proxy then serves it again", found)
	}
	return filepath.Join(base, rest), err
}

// reportRenewal tells the person at the proxy of the first failure to make the directory of command again, and of the
// success after it.
func (d *requestDirs) reportRenewal(command string, err error) {
	path := ""
	if err != nil {
		proxy := d.record.Session().Proxy
		_, rest := proxy.Dir(command)
		path, err = explainUnserved(proxy.Base, rest, err)
	}
	d.mu.Lock()
	text, say := d.unserved.note(command, path, err, time.Now()), d.say
	if text != "" && say == nil {
		d.note(text)
	}
	d.mu.Unlock()
	if text != "" && say != nil {
		say(text)
	}
}

// SPDX-License-Identifier: Apache-2.0

package page

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// A browser is started with a file that redirects it to the page, with a code behind "#". Every user of a
// host can read the browser's command line, but only this user can read the file.

// filePattern is the name pattern of the files. A browser that may not read the file shows its name, which
// contains the command to type.
const filePattern = "docker-hostexec-ui-*.html"

// redirection works without a script. It sends no referrer, and its target replaces the file's address in
// the tab's history (WHATWG HTML, shared declarative refresh steps).
var redirection = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={{.}}">
<title>hostexec</title>
</head>
<body>
<p><a href="{{.}}" rel="noreferrer">Open the page of docker hostexec</a></p>
</body>
</html>
`))
})

// File creates a file that opens the page once, within half a minute, and returns its URL. The file is
// removed after its use or its time limit.
func (p *Page) File() (link string, err error) {
	code, expired := p.tokens.newCode(time.Now())
	removeFiles(expired)
	dir := browserDir(p.Store)
	f, err := os.CreateTemp(dir, filePattern) // mode 0600; the file must not exist
	if err != nil {
		return "", fmt.Errorf("write the file that opens the page: %w", err)
	}
	err = redirection().Execute(f, p.address.link(code))
	if err = errors.Join(err, f.Close()); err == nil && !p.tokens.setFile(code, f.Name()) {
		err = errors.New("too many such files were requested at once: try again")
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("write the file that opens the page: %w", err)
	}
	return fileURL(f.Name()), nil
}

func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a Windows path such as C:/Users
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func removeFiles(files []string) {
	for _, file := range files {
		if file != "" {
			_ = os.Remove(file) // its code is not valid any more
		}
	}
}

// removeStale removes files that a killed page has left.
func removeStale(s *state.Store) {
	files, _ := filepath.Glob(filepath.Join(s.Home, filePattern)) // the pattern is valid
	removeFiles(append(files, staleFiles()...))
}

// newCode answers POST /code. A client whose token came from a code cannot create codes, because these
// would stay valid after its token is revoked.
func (p *Page) newCode(w http.ResponseWriter, r *http.Request) {
	if !p.address.hasToken(r) {
		replyError(w, http.StatusForbidden, "a browser that a link has opened makes no links: docker hostexec ui does")
		return
	}
	file, err := p.File()
	if err != nil {
		replyError(w, http.StatusInternalServerError, err.Error())
		return
	}
	control.Reply(w, http.StatusOK, struct {
		File string `json:"file"`
	}{file})
}

// These texts go to both clients that presented the same code, and to the log.
const (
	revoked = "The token of this page was revoked: its link was used a second time, so another program of this host may have had the page, too. " +
		"Nothing can be answered here any more. On the host, docker hostexec ui opens the page anew, and docker hostexec audit shows what was answered."
	usedTwice = "This link was used before, by another browser or program: the token that it gave is revoked. If that was not you, somebody on this host " +
		"had the page until now: docker hostexec audit shows what was answered. On the host, docker hostexec ui opens the page anew."
	loggedTwice = "a link of the page was used twice: the token that its first use got is revoked"
)

// exchange answers POST /token. It is the only POST that needs no token.
func (p *Page) exchange(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code string `json:"code"`
	}
	var got redemption
	if decodeBody(w, r, &in) == nil {
		got = p.tokens.redeem(in.Code, time.Now())
	}
	switch {
	case got.twice:
		if got.firstReuse { // repeated attempts must not fill the log
			p.warn(loggedTwice)
		}
		control.Reply(w, http.StatusForbidden, problem{Error: usedTwice, Revoked: true})
	case got.token == "":
		replyError(w, http.StatusForbidden, "this link is too old, or none of this page: docker hostexec ui opens another")
	default:
		removeFiles([]string{got.file})
		control.Reply(w, http.StatusOK, struct {
			Token string `json:"token"`
		}{got.token})
	}
}

// checkToken answers GET /token. A request with an invalid token does not get here.
func checkToken(w http.ResponseWriter, _ *http.Request) {
	control.Reply(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"good"})
}

// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"embed"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

//go:embed static
var static embed.FS

const script = "text/javascript; charset=utf-8"

// types maps the files below /static/ to their content types.
var types = map[string]string{
	"app.js": script, "menu.js": script, "htmx.js": script, "htmx.min.js": script, "hx-sse.min.js": script, "sse.js": script,
	"style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml", "LICENSE": "text/plain; charset=utf-8",
}

// bundles lists files that are concatenations of others. htmx and its extension are one file, because the extension
// must be loaded before htmx processes the page.
var bundles = map[string][]string{"htmx.js": {"htmx.min.js", "hx-sse.min.js"}, "sse.js": {"hx-sse.min.js"}}

// routes maps the patterns to their handlers. docs/api.md has a section for each.
func (p *Page) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /{$}":             index,
		"GET /static/{name}":   staticFile,
		"GET /pending":         p.pending,
		"GET /events":          p.events,
		"GET /sessions":        p.sessions,
		"GET /grants":          p.answers(control.KindGrant),
		"DELETE /grants/{id}":  p.revoke(control.KindGrant),
		"GET /denials":         p.answers(control.KindDenial),
		"DELETE /denials/{id}": p.revoke(control.KindDenial),
		"GET /audit":           p.audit,
		"POST /approve/{id}":   p.approve,
		"POST /deny/{id}":      p.deny,
		"POST /kill/{id}":      p.kill,
		"POST /code":           p.newCode,
		"POST /token":          p.exchange,
		"GET /token":           checkToken,
		"GET /pending/{id}":    p.question,
	}
}

func (p *Page) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range p.routes() {
		mux.HandleFunc(pattern, answer)
	}
	return p.guard(withJSONErrors(mux))
}

// withJSONErrors serves mux. For an unknown path or method, it sends an error in JSON like all other errors.
func withJSONErrors(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		m := &headerOnlyWriter{ResponseWriter: w, code: http.StatusOK}
		h.ServeHTTP(m, r) // sets Allow, a status and a text
		replyError(w, m.code, strings.ToLower(http.StatusText(m.code)))
	})
}

// headerOnlyWriter keeps the headers of a reply and drops its status and body.
type headerOnlyWriter struct {
	http.ResponseWriter
	code int
}

func (m *headerOnlyWriter) WriteHeader(code int)        { m.code = code }
func (m *headerOnlyWriter) Write(p []byte) (int, error) { return len(p), nil }

func index(w http.ResponseWriter, _ *http.Request) { render(w, http.StatusOK, "index.html", nil) }

func staticFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, ok := types[name]
	if !ok {
		replyError(w, http.StatusNotFound, "no such page")
		return
	}
	made := bundles[name]
	if made == nil {
		made = []string{name}
	}
	w.Header().Set("Content-Type", kind)
	for _, part := range made {
		b, err := static.ReadFile("static/" + part)
		if err != nil {
			panic("page: " + err.Error()) // cannot happen: the files are embedded
		}
		w.Write(append(b, '\n'))
	}
}

// maxBody is the maximum size of a request body in bytes. It holds the ids of all waiting requests and a
// reason.
const maxBody = 64 << 10

// decodeBody decodes r's body, one JSON value, into v. An empty body leaves v unchanged.
func decodeBody(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || len(b) == 0 {
		return err
	}
	return names.DecodeJSON(b, v)
}

// tooMuch reports whether err is about a body larger than maxBody, and sends the reply if so.
func tooMuch(w http.ResponseWriter, err error) bool {
	var max *http.MaxBytesError
	if errors.As(err, &max) {
		replyError(w, http.StatusRequestEntityTooLarge, "too much")
		return true
	}
	return false
}

// problem is the body of an error reply.
type problem struct {
	Error    string       `json:"error"`
	Question *APIQuestion `json:"request,omitempty"` // 409: the current question
	Revoked  bool         `json:"revoked,omitempty"` // the token of this browser is revoked
}

func replyError(w http.ResponseWriter, code int, why string) {
	control.Reply(w, code, problem{Error: why})
}

// replyFailure sends an error of a client of a watcher.
func replyFailure(w http.ResponseWriter, err error) {
	replyError(w, cmp.Or(control.ErrorStatus(err), http.StatusBadGateway), err.Error())
}

// wantsHTML reports whether htmx or a browser navigation sent r.
func wantsHTML(r *http.Request) bool {
	return r.Header.Get("HX-Request") == "true" || strings.HasPrefix(r.Header.Get("Accept"), "text/html")
}

// SPDX-License-Identifier: Apache-2.0

package page

import (
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed templates
var sources embed.FS

// templates are all that is ever sent to be shown. html/template escapes what is put in
// by where it stands. They are read when there is a page: watchers are of this program, too.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"stamp": stamp, "took": took, "line": line, "bytes": size, "quoted": quoted, "blank": blank, "known": known, "join": strings.Join, "offers": func() []offer { return offers },
	}).ParseFS(sources, "templates/*.html"))
})

// card is one question as it is shown.
type card struct {
	Request
	Outcome Outcome // empty while it waits
	Here    bool    // it was settled by who sees it
	Held    string  // for how long it was approved; empty: once
	Changed bool    // it is not what the person has answered
}

func render(w http.ResponseWriter, code int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	templates().ExecuteTemplate(w, name, data) // fails only if the client has gone
}

// stamp is a time as scripts read it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func took(seconds float64) string {
	switch {
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case seconds < 60:
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func size(args []string) (n int) {
	for _, arg := range args {
		n += len(arg)
	}
	return n
}

// quoted reports whether an argument is shown quoted, because as it is it would not show
// what it is.
func quoted(arg string) bool {
	if !strings.HasPrefix(arg, `"`) {
		return false
	}
	_, err := strconv.Unquote(arg)
	return err == nil
}

// blank reports whether there is less to see of an argument than there is: it is empty, or
// begins or ends with spaces.
func blank(arg string) bool { return arg == "" || strings.TrimSpace(arg) != arg }

// known are the words of effects that have a look of their own.
func known(effect string) bool {
	switch effect {
	case "read", "write", "network", "code":
		return true
	}
	return false
}

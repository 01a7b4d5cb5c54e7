// SPDX-License-Identifier: Apache-2.0

package page

import (
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

//go:embed templates
var sources embed.FS

// templates are all that is ever sent to be shown. html/template escapes what is put in
// by where it stands. They are read when there is a page: watchers are of this program, too.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"stamp": stamp, "took": took, "line": commandLine, "rows": rows, "more": more, "bytes": size, "quoted": quoted, "lines": lines, "glance": glance, "newest": newest, "older": older, "blank": blank, "known": known, "join": strings.Join, "offers": func() []offer { return offers },
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
	_, is := control.Unquoted(arg)
	return is
}

// line is a part of an argument that is shown quoted. More says that the part ends with a newline.
type line struct {
	Text string
	More bool
}

// lines breaks an argument that is shown quoted after each newline. The newline is still shown as \n,
// so that nothing is hidden.
func lines(arg string) (all []line) {
	begin, end := 0, 0
	if quoted(arg) {
		end = len(arg) - 1
	}
	for i := 0; i < end; i++ {
		if arg[i] != '\\' {
			continue
		}
		if i++; arg[i] == 'n' {
			all = append(all, line{arg[begin : i-1], true})
			begin = i + 1
		}
	}
	return append(all, line{Text: arg[begin:]})
}

// maxGlance is how much of a command is shown in one line. Below it all arguments are shown in full.
const maxGlance = 1000

// glance returns the beginning of a command line.
func glance(cmd string) string {
	if len(cmd) > maxGlance {
		return cmd[:maxGlance] + " ..." // it is ASCII
	}
	return cmd
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

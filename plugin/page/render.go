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

// templates are the templates of all HTML. html/template escapes values according to their context. They
// are parsed on first use, because watchers run the same program and need none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"stamp": timestamp, "took": formatDuration, "line": commandLine, "rows": rows, "more": more, "bytes": totalBytes, "quoted": quoted, "lines": lines, "glance": oneLine, "newest": newest, "older": older, "blank": hasInvisibleParts, "known": known, "join": strings.Join, "asker": asker, "offers": func() []offer { return offers }, "varies": varyChoices,
	}).ParseFS(sources, "templates/*.html"))
})

// card is the form in which a question is shown, or a group of questions (control.Groups).
type card struct {
	APIQuestion                    // of the first question, with the callers and digests of all
	Members     []control.Question // the questions, if there are several
	Outcome     Outcome            // empty while it waits
	SettledHere bool               // it was settled by this client
	Held        string             // how long the decision holds; empty: once
	Changed     bool               // it changed after the user had seen it

	Settled, Total int      // how many of several questions were settled
	Failed         []string // why the others were not
	Answered       []string // the waiting requests that were answered
}

// maxAskers is the number of containers that the title of a card names.
const maxAskers = 3

// Askers names the containers of c.
func (c card) Askers() string {
	if len(c.Members) == 0 {
		return asker(c.Question)
	}
	all := control.Distinct(c.Members, asker)
	if n := len(all); n > maxAskers {
		return fmt.Sprintf("%d containers", n)
	}
	return strings.Join(all, ", ")
}

// asker names the container of q, or its session.
func asker(q control.Question) string {
	if q.Container == "" {
		return "session " + q.Session
	}
	return q.Container
}

func render(w http.ResponseWriter, code int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	templates().ExecuteTemplate(w, name, data) // fails only if the client has disconnected
}

// timestamp formats a time for scripts.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func formatDuration(seconds float64) string {
	switch {
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case seconds < 60:
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func totalBytes(args []string) (n int) {
	for _, arg := range args {
		n += len(arg)
	}
	return n
}

// quoted reports whether an argument is shown quoted, because it is not printable.
func quoted(arg string) bool {
	_, is := control.Unquoted(arg)
	return is
}

// line is a part of an argument that is shown quoted. More means that the part ends with a newline.
type line struct {
	Text string
	More bool
}

// lines splits an argument that is shown quoted after each newline. The newline is still shown as \n, so
// that nothing is hidden.
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

// maxShortCommand limits the bytes of a command in its one-line form. All arguments are shown completely below
// it.
const maxShortCommand = 1000

// oneLine returns the beginning of a command line.
func oneLine(cmd string) string {
	if len(cmd) > maxShortCommand {
		return cmd[:maxShortCommand] + " ..." // cmd is ASCII
	}
	return cmd
}

// hasInvisibleParts reports whether an argument has invisible parts: it is empty, or begins or ends with spaces.
func hasInvisibleParts(arg string) bool { return arg == "" || strings.TrimSpace(arg) != arg }

// known reports whether an effect has a style of its own.
func known(effect string) bool {
	switch effect {
	case "read", "write", "network", "code":
		return true
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Args is a command line of docker compose.
type Args struct {
	Global  []string // compose's own flags, before the command
	Command string   // "" if there is none
	Rest    []string // what is behind the command

	Files     []string // those of Global that say what is read
	Directory string
	Compat    bool
}

// Parse reads a command line of docker compose, as it would. Its own flags have to be known,
// for only then can they be told from their values.
func Parse(args []string) (Args, error) {
	var a Args
	set := quiet("docker compose")
	set.StringArrayVarP(&a.Files, "file", "f", nil, "")
	set.StringVar(&a.Directory, "project-directory", "", "")
	set.StringVar(&a.Directory, "workdir", "", "")
	set.BoolVar(&a.Compat, "compatibility", false, "")
	for _, name := range []string{"profile", "env-file", "progress", "ansi", "parallel"} {
		set.StringArray(name, nil, "")
	}
	set.StringP("project-name", "p", "", "")
	for _, name := range []string{"dry-run", "all-resources", "verbose", "no-ansi"} {
		set.Bool(name, false, "")
	}
	set.BoolP("version", "v", false, "")
	set.BoolP("help", "h", false, "")
	if err := set.Parse(args); err != nil {
		return Args{}, fmt.Errorf("docker compose: %w", err)
	}
	rest := set.Args()
	a.Global = args[:len(args)-len(rest)]
	if n := len(a.Global); n > 0 && a.Global[n-1] == "--" {
		a.Global = a.Global[:n-1]
	}
	if len(rest) > 0 {
		a.Command, a.Rest = rest[0], rest[1:]
	}
	return a, nil
}

// Words returns the command line with files in place of those that were named, and more of
// compose's own flags.
func (a Args) Words(files []string, more ...string) []string {
	words := a.global()
	for _, f := range files {
		words = append(words, "--file", f)
	}
	words = append(words, more...)
	if a.Command == "" {
		return words
	}
	return append(append(words, a.Command), a.Rest...)
}

// Ask returns another command line about the same project.
func (a Args) Ask(files []string, words ...string) []string {
	b := a
	b.Command, b.Rest = "", nil
	return append(b.Words(files), words...)
}

// AskAbout is Ask of a command about services, or about all if none is named. A name of the file's may
// look like a flag.
func (a Args) AskAbout(files []string, verb string, services ...string) []string {
	words := a.Ask(files, verb)
	if len(services) > 0 {
		words = append(words, "--")
	}
	return append(words, services...)
}

// global is Global without files, which are named one by one.
func (a Args) global() (words []string) {
	for i := 0; i < len(a.Global); i++ {
		switch w := a.Global[i]; {
		case w == "-f", w == "--file":
			i++
		case len(w) > 2 && w[:2] == "-f", len(w) > 7 && w[:7] == "--file=":
		default:
			words = append(words, w)
		}
	}
	return words
}

// Makes reports whether the command makes or starts containers, so that sessions have to be
// there for them.
func (a Args) Makes() bool {
	return a.Adds() || slices.Contains([]string{"start", "restart", "unpause"}, a.Command)
}

// Adds reports whether the command makes containers of the model, to which sessions add.
func (a Args) Adds() bool {
	return slices.Contains([]string{"up", "create", "run", "scale", "watch"}, a.Command)
}

// Builds reports whether the command builds images that are there.
func (a Args) Builds() bool { return slices.Contains(a.Rest, "--build") }

// Shows reports whether the command shows the model, to which the sessions' part belongs.
func (a Args) Shows() bool { return a.Command == "config" || a.Command == "convert" }

// Oneoff returns the service of which compose run makes one container more, or "".
func (a Args) Oneoff(services func(string) bool) string {
	if a.Command != "run" {
		return ""
	}
	set := quiet("run")
	for name, short := range map[string]string{
		"env": "e", "env-from-file": "", "label": "l", "name": "", "user": "u", "workdir": "w", "entrypoint": "",
		"cap-add": "", "cap-drop": "", "volume": "v", "publish": "p", "pull": "",
	} {
		set.StringArrayP(name, short, nil, "")
	}
	for name, short := range map[string]string{
		"detach": "d", "rm": "", "no-TTY": "T", "no-tty": "", "interactive": "i", "tty": "t", "no-deps": "", "use-aliases": "",
		"service-ports": "P", "quiet": "q", "quiet-build": "", "quiet-pull": "", "build": "", "remove-orphans": "", "dry-run": "", "help": "h",
	} {
		set.BoolP(name, short, false, "")
	}
	if err := set.Parse(a.Rest); err == nil && set.NArg() > 0 {
		return set.Arg(0)
	}
	for _, w := range a.Rest { // it has a flag that is not known here
		if services(w) {
			return w
		}
	}
	return ""
}

// Named returns the services that the command is about. None means all.
func (a Args) Named(services func(string) bool) (names []string) {
	if a.Shows() {
		return nil
	}
	if one := a.Oneoff(services); one != "" {
		return []string{one}
	}
	for _, w := range a.Rest {
		w, _, _ = strings.Cut(w, "=") // scale web=2
		if services(w) {
			names = append(names, w)
		}
	}
	return names
}

func quiet(name string) *pflag.FlagSet {
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SetInterspersed(false)
	set.Usage = func() {}
	return set
}

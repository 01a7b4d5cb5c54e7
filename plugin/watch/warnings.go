// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const (
	maxWarnings = 64   // number
	maxWarning  = 1024 // size of one
)

// Warnings are the risks of the session. The launcher prints them on a terminal only. So they are also stored in the
// record, and status and inspect show them.
type Warnings struct {
	record    *Record
	config    *Configuration
	container atomic.Pointer[[]string] // of the session's container
	others    atomic.Pointer[[]string] // of other containers with the session's share
	sessions  atomic.Pointer[[]string] // of the containers of other sessions
}

// Set replaces the warnings about the session's container, agent or directory, also in the record, which the caller
// saves.
func (w *Warnings) Set(list []string) {
	shown := printableAll(list)
	w.record.Change(func(rec *state.Session) { rec.Warnings = shown })
	w.container.Store(&shown)
}

// SetOthers stores the warnings about other containers that make calls of the session.
func (w *Warnings) SetOthers(list []string) {
	shown := printableAll(list)
	w.others.Store(&shown)
}

// setSessions stores the warnings about containers of other sessions.
func (w *Warnings) setSessions(list []string) {
	shown := printableAll(list)
	w.sessions.Store(&shown)
}

// printableAll returns the first maxWarnings of list in their printable form.
func printableAll(list []string) []string {
	shown := make([]string, 0, len(list))
	for _, text := range list[:min(len(list), maxWarnings)] {
		shown = append(shown, printable(text))
	}
	return shown
}

// printable returns the first maxWarning bytes of text in printable ASCII.
func printable(text string) string {
	return string(names.ASCIIJSON([]byte(text[:min(len(text), maxWarning)])))
}

// list returns all warnings about the session: of its container, of others that have its share, of other
// sessions, and of the configuration.
func (w *Warnings) list() (list []string) {
	for _, p := range []*[]string{w.container.Load(), w.others.Load()} {
		if p != nil {
			list = append(list, *p...)
		}
	}
	if p := w.sessions.Load(); p != nil {
		own := list
		list = append(list, slices.DeleteFunc(slices.Clone(*p), func(text string) bool { return slices.Contains(own, text) })...)
	}
	if c := w.config.Current(); c != nil {
		for _, text := range c.Warnings {
			list = append(list, printable(text))
		}
	}
	return list[:min(len(list), maxWarnings)]
}

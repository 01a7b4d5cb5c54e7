// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

// Configuration is what the person has configured for the session, as it was last read.
type Configuration struct {
	// Environ is the environment that this process was started with. The process's own PATH loses what a
	// container can write. What is lost there is still reported, and may be back after a restart.
	Environ []string

	record  *Record
	log     *slog.Logger
	current atomic.Pointer[config.Config]
}

// NewConfiguration returns the configuration for a session. It is read by Load.
func NewConfiguration(record *Record, log *slog.Logger) *Configuration {
	return &Configuration{Environ: os.Environ(), record: record, log: log}
}

// Load reads the configuration. What it says of the audit log and of notifications holds
// for as long as the watcher lives; everything else is read again when it changes.
func (f *Configuration) Load() *config.Config {
	c := config.Load(config.Source{Store: f.record.Store.Home, Project: f.record.InvokedIn, Workspace: f.record.Workspace})
	if old := f.current.Swap(c); old != nil && old.Digest == c.Digest && fmt.Sprint(old.Err) == fmt.Sprint(c.Err) {
		return c // a container that touches its proposal fills no log
	}
	f.log.Info("configuration", "digest", c.Digest)
	for _, text := range c.Warnings {
		f.log.Warn("configuration", "warning", text)
	}
	if c.Err != nil {
		f.log.Error("configuration", "error", c.Err)
	}
	return c
}

// Current returns the configuration as it was last read, or nil.
func (f *Configuration) Current() *config.Config { return f.current.Load() }

// Supplied returns what a person should know of PATH, of variables, and of the configuration's
// commands in a session with such an owner.
func (f *Configuration) Supplied(owner *mount.Table) (notes []string) {
	c := f.Current()
	if c == nil {
		c = f.Load()
	}
	for _, p := range Supplied(c.Policy(nil), f.Environ, owner) {
		text := p.Text
		if p.Rule != "" {
			text = p.Rule + ": " + text
		}
		notes = append(notes, text)
	}
	return notes
}

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

// Configuration is the session's configuration, as it was last read.
type Configuration struct {
	// Environ is the environment with which this process was started. It never changes. The entries of PATH that a
	// container can write are removed from the process's own PATH and from the environment of commands, not from here.
	// So warnings can still name them, and they return if a restarted container cannot write them.
	Environ []string

	record  *Record
	log     *slog.Logger
	current atomic.Pointer[config.Config]
}

// NewConfiguration returns the configuration for a session, which Load reads.
func NewConfiguration(record *Record, log *slog.Logger) *Configuration {
	return &Configuration{Environ: os.Environ(), record: record, log: log}
}

// Load reads the configuration. The watcher's first settings of the audit log and of notifications stay in force. All
// other settings are read again when the file changes.
func (f *Configuration) Load() *config.Config {
	rec := f.record.Session()
	c := config.Load(config.Source{Store: f.record.Store.Home, Project: rec.InvokedIn, Workspace: rec.Workspace})
	if old := f.current.Swap(c); old != nil && old.Digest == c.Digest && fmt.Sprint(old.Err) == fmt.Sprint(c.Err) {
		return c // a container that rewrites its proposal must not fill the log
	}
	f.log.Info("read the configuration", "digest", c.Digest)
	for _, text := range c.Warnings {
		f.log.Warn("a part of the configuration is ignored", "warning", text)
	}
	if c.Err != nil {
		f.log.Error("the configuration is broken, and every request is denied", "error", c.Err)
	}
	return c
}

// Current returns the configuration as it was last read, or nil.
func (f *Configuration) Current() *config.Config { return f.current.Load() }

// WritableCode returns warnings about PATH, variables, and the configuration's commands that are writable according to
// access.
func (f *Configuration) WritableCode(access *mount.Table) (notes []string) {
	c := f.Current()
	if c == nil {
		c = f.Load()
	}
	for _, p := range WritableCode(c.Policy(nil), f.Environ, access) {
		p.Position = "" // a note names the rule, not the line
		notes = append(notes, p.String())
	}
	return notes
}

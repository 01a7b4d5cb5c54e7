// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"maps"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/gitpush"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// GitRemotes returns the remotes of the configuration f, and those that a person has added for a project. The
// configuration takes precedence.
func GitRemotes(store *state.Store, project string, f *config.Config) gitpush.Remotes {
	known := gitpush.Remotes{}
	maps.Copy(known, store.GitRemotes(project))
	maps.Copy(known, f.Git.Remotes)
	return known
}

// gitRemotes returns the remotes of the session for its git-push calls.
func (c *Calls) gitRemotes() *call.GitPushConfig {
	rec := c.record
	project := rec.Session().InvokedIn
	return &call.GitPushConfig{
		Dir:     rec.Store.GitMirrorsDir(),
		MaxPack: func() int64 { return c.config.Current().Git.MaxPack },
		Known:   func() gitpush.Remotes { return GitRemotes(rec.Store, project, c.config.Current()) },
		Add: func(r gitpush.Remote) error {
			err := rec.Store.AddGitRemote(project, r.Name, r.URL) // waits for other sessions
			rec.mu.Lock()
			defer rec.mu.Unlock()
			c.writeAgentsLocked()
			return err
		},
	}
}

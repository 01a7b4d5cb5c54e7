// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/page"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// StartPage starts the page in the background for a session in which something can be
// asked, where there is a desktop to show it on. It opens a browser with the first
// question, and not before. A session does without one, too: nothing is said of a failure.
func StartPage(store *state.Store, rec state.Session, c *config.Config) {
	shown := c.Notify.Desktop == nil || *c.Notify.Desktop
	if !shown || !page.Desktop() || !c.Policy(PolicyCommands(rec.Commands)).Asks() || control.StartedByCall() {
		return
	}
	_ = dir.CloexecAll() // it stays, and what a shell has left open for us would stay with it
	_ = page.Start(store)
}

// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/page"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// startPage starts the page in the background for a session in which something can be
// asked, where there is a desktop to show it on. It opens a browser with the first
// question, and not before. A session does without one, too: nothing is said of a failure.
func startPage(store *state.Store, rec state.Session, c *config.Config) {
	shown := c.Notify.Desktop == nil || *c.Notify.Desktop
	if !shown || !page.Desktop() || !c.Policy(proxied(rec.Commands)).Asks() || control.Called() {
		return
	}
	_ = dir.CloexecAll() // it stays, and what a shell has left open for us would stay with it
	_ = page.Start(store)
}

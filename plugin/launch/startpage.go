// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/page"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// StartPage starts the page in the background if a call of the session may ask, and there is a desktop. The
// page opens a browser with the first question. A failure is not reported, because a session works without
// the page.
func StartPage(store *state.Store, rec state.Session, c *config.Config) {
	shown := c.Notify.Desktop == nil || *c.Notify.Desktop
	if !shown || !page.CanOpenBrowser() || !c.SessionPolicy(&rec).Asks() || control.StartedByCall() {
		return
	}
	_ = dir.CloexecAll() // the page must not keep descriptors that a shell has left open
	_ = page.Start(store)
}

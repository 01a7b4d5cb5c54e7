// SPDX-License-Identifier: Apache-2.0

package page

import (
	"log"
	"log/slog"
	"os"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// warn writes text to stderr, for a user who has started the page, and to the page's log. The log is
// created on the first write.
func (p *Page) warn(text string) {
	p.logging.Lock()
	defer p.logging.Unlock()
	log.New(os.Stderr, "hostexec: ", 0).Println(text)
	f, err := state.OpenPageLog(p.Store)
	if err != nil {
		return // stderr has the text
	}
	defer f.Close()
	slog.New(slog.NewTextHandler(f, nil)).Warn(text)
}

// SPDX-License-Identifier: Apache-2.0

package page

import (
	"log"
	"log/slog"
	"os"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// warn writes text to stderr, for a person who has started the page, and to the page's log.
// There is a log only once there is something to write.
func (p *Page) warn(text string) {
	p.logging.Lock()
	defer p.logging.Unlock()
	log.New(os.Stderr, "hostexec: ", 0).Println(text)
	f, err := state.OpenPageLog(p.Store)
	if err != nil {
		return // stderr has it
	}
	defer f.Close()
	slog.New(slog.NewTextHandler(f, nil)).Warn(text)
}

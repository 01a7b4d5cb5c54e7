// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"net/http"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Leftover is the set of leftover processes of a command that has ended.
type Leftover struct {
	Request string    `json:"request"`
	Args    []string  `json:"args"` // of the oldest process
	PID     int       `json:"pid"`  // of the oldest process
	Since   time.Time `json:"since"`
	Count   int       `json:"count"` // number of processes
	Cut     *Cut      `json:"cut,omitempty"`
}

func serveLeft(mux *http.ServeMux, s Session) {
	mux.HandleFunc("GET /left", func(w http.ResponseWriter, r *http.Request) {
		all := []Leftover{} // [] in JSON, not null
		for _, l := range s.Leftovers() {
			l = l.listed()
			l.Args = names.PrintableArgs(l.Args)
			all = append(all, l)
		}
		Reply(w, http.StatusOK, all)
	})
}

// Leftovers returns the leftover processes of the session's commands.
func (c *Client) Leftovers(ctx context.Context) ([]Leftover, error) {
	return get[[]Leftover](ctx, c, "/left")
}

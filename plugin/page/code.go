// SPDX-License-Identifier: Apache-2.0

package page

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

// codeLife is how long a browser may take to come up with the code it was started with.
const codeLife = 30 * time.Second

// maxCodes is how many may be open at a time.
const maxCodes = 32

// codes are good for the token, each once. A browser is started with one and not with the
// token, because every user of this host can read a command line.
type codes struct {
	mu   sync.Mutex // guards the field below
	ends map[string]time.Time
}

func (c *codes) mint(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.ends, func(_ string, end time.Time) bool { return now.After(end) })
	if len(c.ends) >= maxCodes {
		clear(c.ends)
	}
	if c.ends == nil {
		c.ends = map[string]time.Time{}
	}
	code := secret()
	c.ends[code] = now.Add(codeLife)
	return code
}

// take reports whether code is good, which it is not any more then.
func (c *codes) take(code string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	end, ok := c.ends[code]
	delete(c.ends, code)
	return ok && !now.After(end)
}

// newCode answers POST /code.
func (p *Page) newCode(w http.ResponseWriter, _ *http.Request) {
	control.Reply(w, http.StatusOK, struct {
		Code string `json:"code"`
	}{p.codes.mint(time.Now())})
}

// exchange answers POST /token, the one request that needs none.
func (p *Page) exchange(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code string `json:"code"`
	}
	if err := body(w, r, &in); err != nil || !p.codes.take(in.Code, time.Now()) {
		fail(w, http.StatusForbidden, "this link was used already, or is too old: docker hostexec ui makes another")
		return
	}
	control.Reply(w, http.StatusOK, struct {
		Token string `json:"token"`
	}{p.place.Token})
}

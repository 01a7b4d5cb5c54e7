// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"
)

// codeLifetime is the time limit for a browser to present its code.
const codeLifetime = 30 * time.Second

const (
	maxCodes  = 32   // codes that have not been presented yet
	maxTokens = 1024 // tokens that were issued for codes
)

// tokens holds the codes for starting browsers, and the tokens issued for them. A code gives one token,
// once. If a code is presented again, two clients have it and one of them is not the user's browser. The
// token of the first use is then revoked.
type tokens struct {
	mu    sync.Mutex // guards the fields below
	codes map[string]code
	used  map[[sha256.Size]byte]*issued // by the digest of the code
	given map[[sha256.Size]byte]*issued // by the digest of the token
	order []*issued                     // oldest first
}

// code is a code that has not been presented yet.
type code struct {
	end  time.Time
	file string // the file that redirects a browser with this code
}

// issued is a token that was issued for a code.
type issued struct {
	code, token [sha256.Size]byte // SHA-256 digests
	revoked     chan struct{}     // closed when the code is presented again
}

func (i *issued) isRevoked() bool {
	select {
	case <-i.revoked:
		return true
	default:
		return false
	}
}

// newCode creates a code. It also returns the files of expired codes.
func (ts *tokens) newCode(now time.Time) (fresh string, expired []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	expired = ts.expireLocked(now)
	if len(ts.codes) >= maxCodes {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(ts.codes)), func(a, b string) int { return ts.codes[a].end.Compare(ts.codes[b].end) })
		expired = append(expired, ts.codes[oldest].file)
		delete(ts.codes, oldest)
	}
	if ts.codes == nil {
		ts.codes = map[string]code{}
	}
	fresh = secret()
	ts.codes[fresh] = code{end: now.Add(codeLifetime)}
	return fresh, expired
}

// setFile stores the name of the file that contains a code. It returns false if the code has expired.
func (ts *tokens) setFile(fresh, file string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	c, ok := ts.codes[fresh]
	if ok {
		c.file = file
		ts.codes[fresh] = c
	}
	return ok
}

// expire removes expired codes and returns their files. If now is zero, it removes all codes.
func (ts *tokens) expire(now time.Time) []string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.expireLocked(now)
}

func (ts *tokens) expireLocked(now time.Time) (expired []string) {
	maps.DeleteFunc(ts.codes, func(_ string, c code) bool {
		old := now.IsZero() || now.After(c.end)
		if old && c.file != "" {
			expired = append(expired, c.file)
		}
		return old
	})
	return expired
}

// redemption is the result of presenting a code.
type redemption struct {
	token, file string // empty unless the code is valid
	twice       bool   // the code was presented before: its token is revoked
	firstReuse  bool   // the token was valid until now
}

// redeem handles a code that a client presents.
func (ts *tokens) redeem(fresh string, now time.Time) redemption {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	sum := sha256.Sum256([]byte(fresh))
	if k := ts.used[sum]; k != nil {
		firstReuse := !k.isRevoked()
		if firstReuse {
			close(k.revoked)
		}
		return redemption{twice: true, firstReuse: firstReuse}
	}
	c, ok := ts.codes[fresh]
	if !ok || now.After(c.end) {
		return redemption{}
	}
	delete(ts.codes, fresh)
	token := secret()
	k := &issued{code: sum, token: sha256.Sum256([]byte(token)), revoked: make(chan struct{})}
	if ts.used == nil {
		ts.used, ts.given = map[[sha256.Size]byte]*issued{}, map[[sha256.Size]byte]*issued{}
	}
	if len(ts.order) >= maxTokens { // a token is removed together with its code
		delete(ts.used, ts.order[0].code)
		delete(ts.given, ts.order[0].token)
		ts.order = slices.Delete(ts.order, 0, 1)
	}
	ts.used[k.code], ts.given[k.token], ts.order = k, k, append(ts.order, k)
	return redemption{token: token, file: c.file}
}

// find returns the token if it was issued for a code, or nil.
func (ts *tokens) find(token string) *issued {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.given[sha256.Sum256([]byte(token))]
}

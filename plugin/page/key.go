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
	maxCodes = 32   // codes that have not been presented yet
	maxKeys  = 1024 // tokens that were issued for codes
)

// keys holds the codes for starting browsers, and the tokens issued for them. A code gives one token,
// once. If a code is presented again, two clients have it and one of them is not the user's browser. The
// token of the first use is then revoked.
type keys struct {
	mu    sync.Mutex // guards the fields below
	codes map[string]code
	used  map[[sha256.Size]byte]*key // by the digest of the code
	given map[[sha256.Size]byte]*key // by the digest of the token
	order []*key                     // oldest first
}

// code is a code that has not been presented yet.
type code struct {
	end  time.Time
	file string // the file that redirects a browser with this code
}

// key is a token that was issued for a code.
type key struct {
	code, token [sha256.Size]byte // SHA-256 digests
	revoked     chan struct{}     // closed when the code is presented again
}

func (k *key) isRevoked() bool {
	select {
	case <-k.revoked:
		return true
	default:
		return false
	}
}

// newCode creates a code. It returns the files of expired codes in over.
func (ks *keys) newCode(now time.Time) (fresh string, expired []string) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	expired = ks.expireLocked(now)
	if len(ks.codes) >= maxCodes {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(ks.codes)), func(a, b string) int { return ks.codes[a].end.Compare(ks.codes[b].end) })
		expired = append(expired, ks.codes[oldest].file)
		delete(ks.codes, oldest)
	}
	if ks.codes == nil {
		ks.codes = map[string]code{}
	}
	fresh = secret()
	ks.codes[fresh] = code{end: now.Add(codeLifetime)}
	return fresh, expired
}

// setFile stores the name of the file that contains a code. It returns false if the code has expired.
func (ks *keys) setFile(fresh, file string) bool {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	c, ok := ks.codes[fresh]
	if ok {
		c.file = file
		ks.codes[fresh] = c
	}
	return ok
}

// expire removes expired codes and returns their files. If now is zero, it removes all codes.
func (ks *keys) expire(now time.Time) []string {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.expireLocked(now)
}

func (ks *keys) expireLocked(now time.Time) (expired []string) {
	maps.DeleteFunc(ks.codes, func(_ string, c code) bool {
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
func (ks *keys) redeem(fresh string, now time.Time) redemption {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	sum := sha256.Sum256([]byte(fresh))
	if k := ks.used[sum]; k != nil {
		firstReuse := !k.isRevoked()
		if firstReuse {
			close(k.revoked)
		}
		return redemption{twice: true, firstReuse: firstReuse}
	}
	c, ok := ks.codes[fresh]
	if !ok || now.After(c.end) {
		return redemption{}
	}
	delete(ks.codes, fresh)
	token := secret()
	k := &key{code: sum, token: sha256.Sum256([]byte(token)), revoked: make(chan struct{})}
	if ks.used == nil {
		ks.used, ks.given = map[[sha256.Size]byte]*key{}, map[[sha256.Size]byte]*key{}
	}
	if len(ks.order) >= maxKeys { // a token is removed together with its code
		delete(ks.used, ks.order[0].code)
		delete(ks.given, ks.order[0].token)
		ks.order = slices.Delete(ks.order, 0, 1)
	}
	ks.used[k.code], ks.given[k.token], ks.order = k, k, append(ks.order, k)
	return redemption{token: token, file: c.file}
}

// byToken returns the key of a token that was issued for a code, or nil.
func (ks *keys) byToken(token string) *key {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.given[sha256.Sum256([]byte(token))]
}

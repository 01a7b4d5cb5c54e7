// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"
)

// codeLife is how long a browser may take to come up with the code it was started with.
const codeLife = 30 * time.Second

const (
	maxCodes = 32   // codes that nobody has presented yet
	maxKeys  = 1024 // tokens that codes have given
)

// keys are the codes that a browser can be started with, and the tokens that they gave. A code
// gives one token, once. Whoever presents a code again shows that two have it, and one of them
// is not the person's browser: the token of the first use is revoked.
type keys struct {
	mu    sync.Mutex // guards the fields below
	codes map[string]code
	used  map[[sha256.Size]byte]*key // by the digest of the code
	given map[[sha256.Size]byte]*key // by the digest of the token
	order []*key                     // oldest first
}

// code is a code that nobody has presented yet.
type code struct {
	end  time.Time
	file string // which redirects a browser with it
}

// key is a token that a code gave.
type key struct {
	code, token [sha256.Size]byte // their digests
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

// mint makes a code. The files that it returns are of codes that are not good any more.
func (ks *keys) mint(now time.Time) (fresh string, over []string) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	over = ks.expireLocked(now)
	if len(ks.codes) >= maxCodes {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(ks.codes)), func(a, b string) int { return ks.codes[a].end.Compare(ks.codes[b].end) })
		over = append(over, ks.codes[oldest].file)
		delete(ks.codes, oldest)
	}
	if ks.codes == nil {
		ks.codes = map[string]code{}
	}
	fresh = secret()
	ks.codes[fresh] = code{end: now.Add(codeLife)}
	return fresh, over
}

// put notes in which file a code is. It reports false if the code is not good any more.
func (ks *keys) put(fresh, file string) bool {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	c, ok := ks.codes[fresh]
	if ok {
		c.file = file
		ks.codes[fresh] = c
	}
	return ok
}

// expire returns the files of the codes whose time is over; of all codes if now is zero.
func (ks *keys) expire(now time.Time) []string {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.expireLocked(now)
}

func (ks *keys) expireLocked(now time.Time) (over []string) {
	maps.DeleteFunc(ks.codes, func(_ string, c code) bool {
		old := now.IsZero() || now.After(c.end)
		if old && c.file != "" {
			over = append(over, c.file)
		}
		return old
	})
	return over
}

// taken is what became of a code that was presented.
type taken struct {
	token, file string // empty unless the code is good
	twice       bool   // the code was presented before: the token that it gave is not good any more
	news        bool   // it was good until now
}

// take takes a code that somebody presents.
func (ks *keys) take(fresh string, now time.Time) taken {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	sum := sha256.Sum256([]byte(fresh))
	if k := ks.used[sum]; k != nil {
		news := !k.isRevoked()
		if news {
			close(k.revoked)
		}
		return taken{twice: true, news: news}
	}
	c, ok := ks.codes[fresh]
	if !ok || now.After(c.end) {
		return taken{}
	}
	delete(ks.codes, fresh)
	token := secret()
	k := &key{code: sum, token: sha256.Sum256([]byte(token)), revoked: make(chan struct{})}
	if ks.used == nil {
		ks.used, ks.given = map[[sha256.Size]byte]*key{}, map[[sha256.Size]byte]*key{}
	}
	if len(ks.order) >= maxKeys { // a token is good for as long as its code is remembered
		delete(ks.used, ks.order[0].code)
		delete(ks.given, ks.order[0].token)
		ks.order = slices.Delete(ks.order, 0, 1)
	}
	ks.used[k.code], ks.given[k.token], ks.order = k, k, append(ks.order, k)
	return taken{token: token, file: c.file}
}

// of returns the key of a token that a code gave, nil for any other.
func (ks *keys) of(token string) *key {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.given[sha256.Sum256([]byte(token))]
}

// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/atomicwriter"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Address is the address and the token of a page. It is stored in a file with mode 0600.
type Address struct {
	Origin string `json:"origin"`
	Token  string `json:"token"`
}

// URL returns the page's address with the token.
func (a Address) URL() string { return a.Origin + "/#token=" + a.Token }

func (a Address) link(code string) string { return a.Origin + "/#code=" + code }

func lockFile(s *state.Store) string    { return filepath.Join(s.Home, "page.lock") }
func addressFile(s *state.Store) string { return filepath.Join(s.Home, "page.json") }

func (a Address) save(s *state.Store) error {
	b, err := json.Marshal(a)
	if err == nil {
		err = atomicwriter.WriteFile(addressFile(s), append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the address of the page: %w", err)
	}
	return nil
}

// errNone means that this user has no page.
var errNone = errors.New("no page is served: docker hostexec ui")

// Find returns the user's page. It waits for a page that is starting. The error is errNone if there is
// none.
func Find(ctx context.Context, s *state.Store) (Address, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if state.LockFree(lockFile(s)) {
			return Address{}, errNone
		}
		if p, err := load(s); err == nil {
			if _, err := p.request(ctx, http.MethodGet, "/token"); err == nil {
				return p, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Address{}, errors.New("a process serves the page, but it does not answer")
		}
	}
}

func load(s *state.Store) (p Address, err error) {
	b, err := dir.ReadPlain(addressFile(s))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}

// File asks the page for a file that opens it once, within half a minute, and returns the file's URL. The
// URL is safe in command lines, which every user of this host can read.
func (a Address) File(ctx context.Context) (string, error) {
	b, err := a.request(ctx, http.MethodPost, "/code")
	var got struct{ File string }
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err == nil && !strings.HasPrefix(got.File, "file:///") {
		err = errors.New("ask the page: its answer names no file")
	}
	return got.File, err
}

// request sends a request with the page's token.
func (a Address) request(ctx context.Context, method, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.Origin+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(tokenHeader, a.Token)
	req.Header.Set("Origin", a.Origin)
	// Uses no proxy of the environment: the token must not leave this host.
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the page: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the page: it answered %s", resp.Status)
	}
	return b, nil
}

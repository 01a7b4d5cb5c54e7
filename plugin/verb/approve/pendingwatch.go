// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// minShown is the time for which a request is shown before a key can answer it. Keys that were typed earlier
// were meant for the previous request.
const minShown = 500 * time.Millisecond

// watchPending shows the requests that keep accepts one by one, and answers each by a key, until q is typed
// or ctx ends.
func watchPending(ctx context.Context, dockerCLI command.Cli, store *state.Store, keep func(control.Question) bool) error {
	if !dockerCLI.In().IsTerminal() || !dockerCLI.Out().IsTerminal() {
		return cli.Hint(errors.New("--watch needs a terminal"), "docker hostexec pending, and approve or deny")
	}
	keys, restore, err := cli.RawKeys(ctx)
	if err != nil {
		return err
	}
	defer restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := newQuestionList(store)
	// ends with ctx, which is cancelled below; d.wg.Wait waits for it.
	d.wg.Go(func() { d.watchSessions(ctx) })
	err = d.serve(ctx, dockerCLI.Out(), readKeys(keys), keep)
	cancel()
	d.wg.Wait()
	return err
}

// readKeys returns the typed bytes. It buffers at most maxReason bytes and drops the others.
func readKeys(r io.Reader) <-chan byte {
	keys := make(chan byte, maxReason)
	// ends with the process or the terminal: a read from it cannot be interrupted.
	go func() {
		defer close(keys)
		var b [1]byte
		for {
			if _, err := r.Read(b[:]); err != nil {
				return
			}
			select {
			case keys <- b[0]:
			default:
			}
		}
	}()
	return keys
}

// questionList collects the requests of all sessions.
type questionList struct {
	store *state.Store
	wg    sync.WaitGroup

	mu      sync.Mutex                    // guards the fields below
	waiting map[string][]control.Question // by session, while it is watched
	changed chan struct{}                 // has a buffer of one
}

func newQuestionList(store *state.Store) *questionList {
	return &questionList{store: store, waiting: map[string][]control.Question{}, changed: make(chan struct{}, 1)}
}

// watchSessions watches all sessions, also those that start later.
func (d *questionList) watchSessions(ctx context.Context) {
	d.store.OnChange(ctx, nil, func() {
		recs, err := d.store.List()
		for _, rec := range recs {
			if err == nil && d.take(rec.ID) {
				// ends when the session's watcher does, or with ctx.
				d.wg.Go(func() { d.watch(ctx, rec.ID) })
			}
		}
	})
}

func (d *questionList) take(session string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, watched := d.waiting[session]; watched {
		return false
	}
	d.waiting[session] = nil
	return true
}

func (d *questionList) watch(ctx context.Context, session string) {
	c := control.Dial(d.store.Dir(session))
	defer c.Close()
	_ = c.Watch(ctx, func(all []control.Question) { d.set(session, all) }) // OnChange tries again
	d.mu.Lock()
	delete(d.waiting, session)
	d.mu.Unlock()
	d.notify()
}

func (d *questionList) set(session string, all []control.Question) {
	d.mu.Lock()
	d.waiting[session] = all
	d.mu.Unlock()
	d.notify()
}

func (d *questionList) notify() {
	select {
	case d.changed <- struct{}{}:
	default: // a change is already signalled
	}
}

// next returns the oldest request that keep accepts, with those that are the same, and the number of such groups.
func (d *questionList) next(keep func(control.Question) bool) (first []control.Question, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []control.Question
	for _, some := range d.waiting {
		for _, q := range some {
			if keep(q) {
				all = append(all, q)
			}
		}
	}
	if len(all) == 0 {
		return nil, 0
	}
	slices.SortFunc(all, func(a, b control.Question) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID)) })
	groups := control.Groups(all)
	return groups[0], len(groups)
}

// changeOf returns a text if group is not current any more: none of it waits as shown, or more of the same request wait
// than were shown. Callers that come or go change nothing, because an answer settles only those that were shown. So a
// container cannot cause that a group is shown again and again.
func (d *questionList) changeOf(group []control.Question, keep func(control.Question) bool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	waits, same := false, 0
	for _, now := range slices.Concat(slices.Collect(maps.Values(d.waiting))...) {
		// a list has no digest for a long question
		isShown := func(q control.Question) bool { return q.ID == now.ID && (now.Cut != nil || now.Digest == q.Digest) }
		waits = waits || slices.ContainsFunc(group, isShown)
		if now.Group != "" && now.Group == group[0].Group && keep(now) {
			same++
		}
	}
	switch {
	case !waits:
		return "It was answered elsewhere, or its callers have gone."
	case same > len(group) && len(group) < control.MaxGroup:
		return "The same request came once more."
	}
	return ""
}

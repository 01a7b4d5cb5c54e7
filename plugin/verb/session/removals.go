// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// maxRemovals is the number of directories that are removed at the same time: removal mostly waits for the disk.
const maxRemovals = 4

// removals removes the directories of sessions. It prints each ID to out after the removal, and a counter to progress.
type removals struct {
	out, progress io.Writer
}

// removalsOf returns removals that print IDs to stdout. They print the counter to stderr only if stderr is a terminal
// and stdout is not. A terminal that shows the IDs needs no counter.
func removalsOf(dockerCLI command.Cli) removals {
	if dockerCLI.Err().IsTerminal() && !dockerCLI.Out().IsTerminal() {
		return removals{dockerCLI.Out(), dockerCLI.Err()}
	}
	return removals{dockerCLI.Out(), io.Discard}
}

// remove removes the directories of the sessions ids.
func (r removals) remove(store *state.Store, ids []string) error {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards out, progress, errs and done
	var errs []error
	done := 0
	slots := make(chan struct{}, maxRemovals)
	for _, id := range ids {
		slots <- struct{}{}
		// ends when the directory is removed; remove waits for it.
		wg.Go(func() {
			defer func() { <-slots }()
			err := store.Remove(id)
			mu.Lock()
			defer mu.Unlock()
			if errs = append(errs, err); err == nil {
				fmt.Fprintln(r.out, id)
			}
			done++
			fmt.Fprintf(r.progress, "\rremoved %d of %d sessions", done, len(ids))
		})
	}
	wg.Wait()
	if len(ids) > 0 {
		fmt.Fprint(r.progress, "\r\033[K")
	}
	return errors.Join(errs...)
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// shortLived is a Runner whose processes end as soon as they have started.
type shortLived struct{}

func (shortLived) Run(_ context.Context, _ executor.Command, s executor.Streams) (executor.Status, error) {
	s.Started(1 << 22) // no process has such a pid
	return executor.Status{Code: 127}, nil
}

// TestEndsAtOnce starts a bash that ends at once, for example because it misses a library. The error depended on the
// scheduler: it was "start shell" with a nil error if the end came before the wait for the start, or that a pipe is
// closed if the end came before the first line was sent.
func TestEndsAtOnce(t *testing.T) {
	r := newFixture(t)
	r.Table.Runner = shortLived{}
	s := r.shell(t, "one")
	for i := range 500 {
		got := r.do(t.Context(), s, Command{Text: ":"})
		var dead *TerminatedError
		if !errors.As(got.failed, &dead) || dead.Code != 127 {
			t.Fatalf("%d. start: %v, want code 127", i, got.failed)
		}
	}
}

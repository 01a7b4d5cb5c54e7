// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// shortGrace is shorter than any grace that a test could wait for.
const shortGrace = 50 * time.Millisecond

// TestGraceOfCause checks that the code that ends a text, or all shells, determines the time
// between TERM and KILL.
func TestGraceOfCause(t *testing.T) { forEachBackend(t, testGraceOfCause) }

func testGraceOfCause(t *testing.T, r *fixture) {
	const forever = time.Hour
	r.Table.Grace = forever
	r.Runner.(*executor.Host).Grace = forever
	s := r.shell(t, "one")
	defer func(grace time.Duration) { r.Runner.(*executor.Host).Grace = grace }(shortGrace)
	r.text(t, s, `:`)
	for name, how := range map[string]func(context.Context, StartConfig, Command, Output) (int, error){"exec": s.Exec, "start": s.Start} {
		ctx, cancel := context.WithCancelCause(t.Context())
		began := make(lines, 4)
		go func() { // ends with the text
			<-began
			cancel(endError{shortGrace})
		}()
		var out bytes.Buffer
		_, err := how(ctx, r.config, Command{ID: newID(), Text: `sh -c 'trap "" INT TERM; echo on; while :; do sleep 1; done'`}, Output{Out: both{&out, began}, Err: &out})
		if !errors.Is(err, endError{shortGrace}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.text(t, s, `sh -c 'trap "" INT TERM HUP; : >up; while :; do sleep 1; done' & until [ -e up ]; do sleep .02; done`)
	r.SetGrace(shortGrace)
	check(t, r.Table.Close())
}

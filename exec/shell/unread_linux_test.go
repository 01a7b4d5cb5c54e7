// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"sync"
	"testing"
)

var errNoReader = errors.New("the reader takes nothing")

// unread is the output of a command whose reader takes nothing. A Write waits until Ending.
type unread struct {
	waits, ending chan struct{} // closed by the first Write, and by Ending
	once          sync.Once
}

func (s *unread) Write([]byte) (int, error) {
	s.once.Do(func() { close(s.waits) })
	<-s.ending
	return 0, errNoReader
}

// TestEndsUnread ends commands whose output nobody reads. Such a command kept the turn of its shell until its reader
// went on or left. The shell keeps its state, and takes the next command at once.
//
// Attack 167.
func TestEndsUnread(t *testing.T) { forEachBackend(t, testEndsUnread) }

func testEndsUnread(t *testing.T, r *fixture) {
	s := r.shell(t, "one")
	r.text(t, s, `still=here`)
	for _, tt := range []struct {
		name, text string
		how        func(context.Context, StartConfig, Command, Output) (int, error)
	}{
		{"runs", `yes`, s.Exec},
		{"a copy has ended", `head -c 1000000 /dev/zero`, s.Start},
	} {
		late, done := patient(t.Context())
		ctx, cancel := context.WithCancelCause(late)
		out := &unread{waits: make(chan struct{}), ending: make(chan struct{})}
		// ends with the first byte of output.
		go func() {
			<-out.waits
			cancel(errLate)
		}()
		c := Command{ID: newID(), Text: tt.text}
		_, err := tt.how(ctx, r.config, c, Output{Out: out, Err: out, Ending: func() { close(out.ending) }})
		held := late.Err()
		cancel(nil)
		done()
		if !errors.Is(err, errLate) || held != nil {
			t.Errorf("%s: %v, %v, want %v", tt.name, err, held, errLate)
		}
		if left := marked(c.ID); len(left) > 0 {
			t.Errorf("%s: left %v", tt.name, left)
		}
		if got := r.do(t.Context(), s, Command{Text: `echo $still`}); got.out != "here\n" || got.failed != nil {
			t.Fatalf("%s: after it the shell says %+v", tt.name, got)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// TestAwaitCheck has a check that waits for a file system that does not answer. The end of the launcher or of the session
// must end the wait: run hung until the third TERM, and its watcher stayed.
func TestAwaitCheck(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name   string
		before func(end chan<- string, stop context.CancelCauseFunc, checked chan<- error)
		want   error
	}{
		{"checked", func(_ chan<- string, _ context.CancelCauseFunc, checked chan<- error) { checked <- refused }, refused},
		{"no launcher", func(end chan<- string, _ context.CancelCauseFunc, _ chan<- error) { close(end) }, errNotAwaited},
		{"aborted", func(end chan<- string, _ context.CancelCauseFunc, _ chan<- error) { end <- "abort" }, errNotAwaited},
		{"stopped", func(_ chan<- string, stop context.CancelCauseFunc, _ chan<- error) { stop(watch.ErrStopped) }, watch.ErrStopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, checked := make(chan string, 1), make(chan error, 1)
			ctx, stop := context.WithCancelCause(context.Background())
			defer stop(nil)
			tt.before(lines, stop, checked)
			err := awaitCheck(ctx, &watch.LauncherConn{Lines: lines}, func() error { return <-checked })
			if !errors.Is(err, tt.want) {
				t.Errorf("awaitCheck = %v, want %v", err, tt.want)
			}
		})
	}
}

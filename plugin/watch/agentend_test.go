// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// The calls of an agent have the time that docker hostexec stop sets, however the agent ends then.
func TestAgentEndGraceful(t *testing.T) {
	e := newAgentEnd(t.Context())
	why := errors.New("the agent has ended")
	if got := e.graceful(why); got != why {
		t.Errorf("by itself: %v", got)
	}
	e.stopped.Store(&StopError{time.Minute})
	got := e.graceful(why)
	var says executor.Graceful
	if !errors.Is(got, why) || !errors.As(got, &says) || says.Grace() != time.Minute || got.Error() != why.Error() {
		t.Errorf("by stop: %#v", got)
	}
	if got := e.graceful(nil); got != nil {
		t.Errorf("no reason: %v", got)
	}
}

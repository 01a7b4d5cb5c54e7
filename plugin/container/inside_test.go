// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"testing"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// stuck is an engine that makes an exec, and does not answer who attaches to it.
type stuck struct {
	insideEngine
	asked, over chan struct{}
}

func (stuck) ContainerExecCreate(context.Context, string, container.ExecOptions) (container.ExecCreateResponse, error) {
	return container.ExecCreateResponse{ID: "x"}, nil
}

func (s stuck) ContainerExecAttach(context.Context, string, container.ExecAttachOptions) (types.HijackedResponse, error) {
	close(s.asked)
	<-s.over
	return types.HijackedResponse{}, errors.New("too late")
}

// TestStuckEngine: who starts a process waits no longer than its context.
func TestStuckEngine(t *testing.T) {
	s := stuck{asked: make(chan struct{}), over: make(chan struct{})}
	defer close(s.over)
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	go func() { // ends when the engine is asked
		<-s.asked
		cancel(mine)
	}()
	if _, _, err := (&Inside{s, "id", "name"}).Start(ctx, nil); !errors.Is(err, mine) {
		t.Errorf("it ends with %v", err)
	}
}

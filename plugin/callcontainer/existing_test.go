// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// stuck fakes an engine that answers attach requests too late.
type stuck struct {
	existingEngine
	asked, over chan struct{}
	conn        net.Conn
}

func (stuck) ContainerExecCreate(context.Context, string, container.ExecOptions) (container.ExecCreateResponse, error) {
	return container.ExecCreateResponse{ID: "x"}, nil
}

func (s stuck) ContainerExecAttach(context.Context, string, container.ExecAttachOptions) (types.HijackedResponse, error) {
	close(s.asked)
	<-s.over
	return types.NewHijackedResponse(s.conn, ""), nil
}

// TestStuckEngine checks that Start returns when its context ends, and that a connection that the engine
// opens later is closed.
func TestStuckEngine(t *testing.T) {
	ours, theirs := net.Pipe()
	s := stuck{asked: make(chan struct{}), over: make(chan struct{}), conn: ours}
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	go func() { // ends when the engine is asked
		<-s.asked
		cancel(mine)
	}()
	if _, _, err := (&RunningContainer{api: s, id: "id", name: "name"}).Start(ctx, nil, false); !errors.Is(err, mine) {
		t.Errorf("it ends with %v", err)
	}
	close(s.over)
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a late connection: %v, want it closed", err)
	}
}

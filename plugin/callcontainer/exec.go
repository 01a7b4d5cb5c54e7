// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"net"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// execEngine is the part of the engine's API that StartExec uses.
type execEngine interface {
	ContainerExecCreate(ctx context.Context, id string, o container.ExecOptions) (container.ExecCreateResponse, error)
	ContainerExecAttach(ctx context.Context, exec string, o container.ExecAttachOptions) (types.HijackedResponse, error)
}

// Exec is a process of docker exec. Read reads its stdout.
type Exec struct {
	ID   string
	conn net.Conn
	stdout
}

// StartExec starts a process without a terminal in container id. The caller closes the Exec.
func StartExec(ctx context.Context, api execEngine, id string, o container.ExecOptions) (*Exec, error) {
	e, err := api.ContainerExecCreate(ctx, id, o)
	if err != nil {
		return nil, err
	}
	at, err := Attach(ctx, func(ctx context.Context) (types.HijackedResponse, error) {
		return api.ContainerExecAttach(ctx, e.ID, container.ExecAttachOptions{})
	})
	if err != nil {
		return nil, err
	}
	return &Exec{e.ID, at.Conn, stdout{r: at.Reader}}, nil
}

// Write writes to the stdin of the process.
func (e *Exec) Write(b []byte) (int, error) { return e.conn.Write(b) }

// Close closes the connection, so that the stdin of the process ends. A Read at the same time fails.
func (e *Exec) Close() error { return e.conn.Close() }

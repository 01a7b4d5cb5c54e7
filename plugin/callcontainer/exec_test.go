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

// pipedEngine fakes an engine whose attached process has the other end of conn.
type pipedEngine struct {
	existingEngine
	conn net.Conn
	err  error
}

func (pipedEngine) ContainerExecCreate(context.Context, string, container.ExecOptions) (container.ExecCreateResponse, error) {
	return container.ExecCreateResponse{ID: "x"}, nil
}

func (e pipedEngine) ContainerExecAttach(_ context.Context, id string, _ container.ExecAttachOptions) (types.HijackedResponse, error) {
	if e.err != nil || id != "x" {
		return types.HijackedResponse{}, e.err
	}
	return types.NewHijackedResponse(e.conn, ""), nil
}

// TestExec checks that Close makes a Read fail that waits for the process, and that the process finds the end of its
// stdin.
func TestExec(t *testing.T) {
	ours, theirs := net.Pipe()
	e, err := StartExec(t.Context(), pipedEngine{conn: ours}, "id", container.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	// Ends when Close closes the connection.
	go func() {
		_, err := e.Read(make([]byte, 8))
		if err == nil {
			_, err = e.Read(make([]byte, 8))
		}
		ended <- err
	}()
	if _, err := theirs.Write([]byte("\x02\x00\x00\x00\x00\x00\x00\x03err\x01\x00\x00\x00\x00\x00\x00\x03out")); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read = %v, want the error of a closed connection", err)
	}
	if _, err := theirs.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("stdin: %v, want EOF", err)
	}
	refused := errors.New("refused")
	if _, err := StartExec(t.Context(), pipedEngine{err: refused}, "id", container.ExecOptions{}); err != refused {
		t.Errorf("StartExec = %v, want %v", err, refused)
	}
}

// SPDX-License-Identifier: Apache-2.0

package callcontainer_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/docker/docker/api/types"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
)

// TestAttachLate: the engine's client answers an attach after its caller has given up. The caller has its answer by
// then, and the connection does not stay open.
func TestAttachLate(t *testing.T) {
	given, gaveUp := make(chan struct{}), errors.New("gave up")
	ours, engines := net.Pipe()
	defer engines.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gaveUp)
	_, err := callcontainer.Attach(ctx, func(context.Context) (types.HijackedResponse, error) {
		<-given
		return types.HijackedResponse{Conn: ours, Reader: bufio.NewReader(ours)}, nil
	})
	if err != gaveUp {
		t.Errorf("the caller has %v, want %v", err, gaveUp)
	}
	close(given)
	engines.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := engines.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the engine's end of the connection has %d, %v, want its end", n, err)
	}
}

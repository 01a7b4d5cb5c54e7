// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"

	"github.com/docker/docker/api/types"
)

// Attach returns the connection that open opens, or the cause of ctx once ctx is done: the engine's
// client ignores ctx after it has sent a request to attach. A connection that comes later is closed.
func Attach(ctx context.Context, open func(context.Context) (types.HijackedResponse, error)) (types.HijackedResponse, error) {
	type answer struct {
		conn types.HijackedResponse
		err  error
	}
	came := make(chan answer)
	// ends when the engine answers, or with the process.
	go func() {
		conn, err := open(ctx)
		select {
		case came <- answer{conn, err}:
		case <-ctx.Done():
			if err == nil {
				conn.Close()
			}
		}
	}()
	select {
	case a := <-came:
		return a.conn, a.err
	case <-ctx.Done():
		return types.HijackedResponse{}, context.Cause(ctx)
	}
}

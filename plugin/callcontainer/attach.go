// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"

	"github.com/docker/docker/api/types"
)

// Attach returns the connection that open opens, or the cause of ctx if ctx ends first. The engine's
// client ignores ctx after it has sent an attach request. A connection that is opened after the end of ctx
// is closed.
func Attach(ctx context.Context, open func(context.Context) (types.HijackedResponse, error)) (types.HijackedResponse, error) {
	type answer struct {
		conn types.HijackedResponse
		err  error
	}
	results := make(chan answer)
	// Ends when the engine answers, or with the process.
	go func() {
		conn, err := open(ctx)
		select {
		case results <- answer{conn, err}:
		case <-ctx.Done():
			if err == nil {
				conn.Close()
			}
		}
	}()
	select {
	case a := <-results:
		return a.conn, a.err
	case <-ctx.Done():
		return types.HijackedResponse{}, context.Cause(ctx)
	}
}

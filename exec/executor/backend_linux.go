// SPDX-License-Identifier: Apache-2.0

package executor

import "context"

func (h *Host) runIn(ctx context.Context, b Backend, c Command, s Streams) (Status, error) {
	conns, err := h.connectStreams(s, true)
	if err != nil {
		return Status{}, err
	}
	if ctx.Err() != nil { // a cancelled call starts no command
		conns.closeAll()
		return Status{}, context.Cause(ctx)
	}
	started, err := b.Start(ctx, c, conns.files, s.TTY)
	if err != nil {
		conns.closeAll()
		return Status{}, err
	}
	conns.setMaster(started.Terminal())
	return h.serve(ctx, started, started.PID(), s, conns)
}

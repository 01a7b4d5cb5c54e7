// SPDX-License-Identifier: Apache-2.0

package executor

import "context"

func (h *Host) runIn(ctx context.Context, b Backend, c Command, s Streams) (Status, error) {
	pl, err := h.connectStreams(s, true)
	if err != nil {
		return Status{}, err
	}
	if ctx.Err() != nil { // a cancelled call starts no command
		pl.closeAll()
		return Status{}, context.Cause(ctx)
	}
	g, err := b.Start(ctx, c, pl.files, s.TTY)
	if err != nil {
		pl.closeAll()
		return Status{}, err
	}
	pl.setMaster(g.Terminal())
	return h.serve(ctx, g, g.PID(), s, pl)
}

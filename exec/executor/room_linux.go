// SPDX-License-Identifier: Apache-2.0

package executor

import "context"

func (h *Host) runIn(ctx context.Context, room Room, c Command, s Streams) (Status, error) {
	pl, err := h.plumb(s, true)
	if err != nil {
		return Status{}, err
	}
	if ctx.Err() != nil { // a cancelled call starts no command
		pl.abandon()
		return Status{}, context.Cause(ctx)
	}
	g, err := room.Enter(ctx, c, pl.files, s.TTY)
	if err != nil {
		pl.abandon()
		return Status{}, err
	}
	pl.adopt(g.Terminal())
	return h.serve(ctx, g, g.PID(), s, pl)
}

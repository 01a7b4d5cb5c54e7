// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"time"
)

const (
	startTime = 10 * time.Second // how long calls wait for the first SetConfig
	maxEarly  = 64               // how many calls wait for it
)

// ready waits for the first SetConfig: a resumed session may have callers before. It reports false if that takes longer
// than startTime, if maxEarly calls wait already, or if the caller leaves.
func (s *Server) ready(ctx context.Context) bool {
	if s.config.Load() != nil {
		return true
	}
	defer s.early.Add(-1)
	if s.early.Add(1) > maxEarly {
		return false
	}
	set := s.configChanged.Next()
	if s.config.Load() != nil { // since the first look
		return true
	}
	limit := time.NewTimer(startTime)
	defer limit.Stop()
	select {
	case <-set:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

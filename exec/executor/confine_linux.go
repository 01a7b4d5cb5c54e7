// SPDX-License-Identifier: Apache-2.0

package executor

import "github.com/docker-hostexec/hostexec/exec/sandbox"

// confine returns the function that confines the thread of a command, and answers the calls that the
// sandbox leaves to this process. It returns nil without a sandbox.
func (h *Host) confine(s *sandbox.Sandbox) func() error {
	if s == nil {
		return nil
	}
	return func() error {
		m, err := s.Confine()
		if err != nil {
			return err
		}
		h.mu.Lock()
		h.metadata[m] = true
		h.mu.Unlock()
		// ends with the last process of the command, or when Close closes m; Close waits for it.
		h.supervised.Go(func() {
			if err := m.Serve(); err != nil {
				h.log.Debug("sandbox", "error", err)
			}
			m.Close()
			h.mu.Lock()
			delete(h.metadata, m)
			h.mu.Unlock()
		})
		return nil
	}
}

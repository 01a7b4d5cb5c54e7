// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// confinement is the sandbox of one command.
type confinement struct {
	host     *Host
	sandbox  *sandbox.Sandbox
	files    [3]int                  // the command's
	metadata *sandbox.MetadataServer // set by enter
}

// confine prepares the start s of a command that runs in a sandbox, or returns nil.
func (h *Host) confine(c Command, s *proctree.StartConfig) *confinement {
	if c.Sandbox == nil {
		return nil
	}
	f := &confinement{host: h, sandbox: c.Sandbox, files: s.Files}
	s.Confine = f.enter
	return f
}

// enter confines the thread of the command, and answers the system calls that the sandbox leaves to this process.
func (f *confinement) enter() error {
	for _, fd := range f.files {
		if err := f.sandbox.PermitTerminal(fd); err != nil {
			return err
		}
	}
	m, err := f.sandbox.Confine()
	if err != nil {
		return err
	}
	h := f.host
	f.metadata = m
	h.mu.Lock()
	h.metadata[m] = true
	h.mu.Unlock()
	// ends with the last process of the command, or when Close closes m; Close waits for it, but not for ever.
	h.servers.Go(func() {
		if err := m.Serve(); err != nil {
			h.log.Debug("serve a sandbox", "error", err)
		}
		m.Close()
		h.mu.Lock()
		delete(h.metadata, m)
		h.mu.Unlock()
	})
	return nil
}

// confinedCommand is a command in a sandbox. After its end, processes that it left running are killed, as in a
// container.
type confinedCommand struct {
	*local
	confinement *confinement
}

// Reap kills the processes that the command has left, and reaps the command.
func (c *confinedCommand) Reap() syscall.WaitStatus {
	if !c.confinement.metadata.Ended() {
		if err := c.End(0); err != nil {
			c.host.log.Error("end what a command has left in its sandbox", "error", err)
		}
	}
	return c.local.Reap()
}

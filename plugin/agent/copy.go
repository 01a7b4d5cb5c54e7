// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"io"
	"sync"
)

// copy copies the data between client and agent, and keeps the agent's last lines.
func (c *ContainerAgent) copy(p *runningContainer) {
	// Ends with the client's stdin, or with the process: a read from stdin may block forever.
	go c.copyStdin(p)
	var wg sync.WaitGroup
	// These end with the container, whose connections they read. A slow reader of stdout delays stdout
	// only.
	wg.Go(func() { c.copyStdout(p) })
	if len(p.attached) > 1 {
		wg.Go(func() { c.copyStderr(p) })
	}
	// Ends with those two.
	go func() {
		wg.Wait()
		close(p.outputDone)
	}()
}

func (c *ContainerAgent) copyStdin(p *runningContainer) {
	to := p.attached[0]
	_, err := to.Conn.Write(c.Handshake)
	if err == nil {
		_, err = io.Copy(to.Conn, c.Stdin)
	}
	if err != nil {
		c.Log("stdin: %v", err) // usually because the agent has ended
	}
	if c.Extra.TTY {
		_, err = to.Conn.Write([]byte{4}) // EOT ends a terminal's input; CloseWrite would end the output too
	} else {
		err = to.CloseWrite()
	}
	if err != nil {
		c.Log("end of stdin: %v", err)
	}
}

func (c *ContainerAgent) copyStdout(p *runningContainer) {
	lines := c.tail.stream()
	defer lines.flush()
	frames := p.attached[0].Reader
	client := &errorWriter{w: c.Stdout}
	to := io.MultiWriter(client, lines)
	var err error
	if c.Extra.TTY {
		_, err = io.Copy(to, frames)
	} else {
		err = demux(to, io.Discard, frames)
	}
	if client.err != nil {
		p.clientFailed <- fmt.Errorf("the client takes no more output: %w", client.err)
		return
	}
	c.logStreamError("stdout", err)
}

func (c *ContainerAgent) copyStderr(p *runningContainer) {
	lines := c.tail.stream()
	defer lines.flush()
	s := newDroppingWriter(c.Stderr)
	defer s.close()
	c.logStreamError("stderr", demux(io.Discard, io.MultiWriter(lines, s), p.attached[1].Reader))
}

// logStreamError logs an error at the end of a stream. It is not a failure: only the container's exit code
// counts.
func (c *ContainerAgent) logStreamError(name string, err error) {
	if err != nil {
		c.Log("%s: %v", name, err)
	}
}

// errorWriter is a writer that keeps its last error.
type errorWriter struct {
	w   io.Writer
	err error
}

func (w *errorWriter) Write(p []byte) (n int, err error) {
	n, err = w.w.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

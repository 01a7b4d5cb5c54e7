// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"context"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// TestStartedAsCallerLeaves checks that a monitor is still read if its command starts while the
// caller leaves.
func TestStartedAsCallerLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for range 100 { // mostly the message is there before ctx's end is
		l, theirs, err := newLink()
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []byte{msgStarted, msgEnded} {
			if err := unix.Send(theirs, []byte{kind, 7, 7, 7, 7}, 0); err != nil {
				t.Fatal(err)
			}
		}
		_, err = l.started(ctx)
		if err == nil {
			if kind, _, err := l.read(); kind != msgEnded || err != nil {
				t.Errorf("after a start: %q, %v, want the end", kind, err)
			}
		} else if err != context.Canceled {
			t.Errorf("started = %v, want %v", err, context.Canceled)
		}
		unix.Close(theirs)
		l.conn.Close()
	}
}

// TestEndAsMonitorStarts: the end of all meets a command on a terminal whose exec still waits.
func TestEndAsMonitorStarts(t *testing.T) {
	p := newParent(t)
	program, _ := exectest.LeasedProgram(t, []byte("#!/bin/sh\n"))
	master, line, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer line.Close()
	fd := int(line.Fd())
	failed := make(chan error, 1)
	// ends when the start fails; the end of the test waits for it.
	go func() {
		_, err := p.Start(context.Background(), StartConfig{ID: "blocked", Path: program, Args: []string{"x"}, TTY: true, Files: [3]int{fd, fd, fd}})
		failed <- err
	}()
	exectest.Eventually(t, "its process is there", func() bool { return len(Tree("blocked")) > 0 })
	if err := p.End(0); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the start did not fail")
	}
	if left := Tree("blocked"); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// TestProgramLookupsAreBounded checks that startSlow starts a program, without a lookup, while other lookups do not
// answer.
//
// Attack 229.
func TestProgramLookupsAreBounded(t *testing.T) {
	s := sh("")
	for range cap(lookups) {
		lookups <- struct{}{}
	}
	if s.execsAtOnce() {
		t.Error("one more look was taken")
	}
	for range cap(lookups) {
		<-lookups
	}
	if !s.execsAtOnce() || len(lookups) != 0 {
		t.Errorf("a look failed, or %d are held", len(lookups))
	}
}

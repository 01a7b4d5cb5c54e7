// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestSilentHost checks a host that sends nothing, like a suspended one. The call must end at its time limit, whatever
// the host has sent before. The host must have no pipe for which a reader of the output waits.
func TestSilentHost(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		env  string
		host func(p *peer)
	}{
		"never":             {[]string{"make"}, "HOSTEXEC_TIMEOUT=50ms", func(*peer) {}},
		"since the command": {[]string{"make"}, "HOSTEXEC_TIMEOUT=0h0m1.5ms", (*peer).runs},
		"by the flag":       {[]string{"hostexec", "--timeout", "50ms", "make"}, "HOSTEXEC_TIMEOUT=1h", func(*peer) {}},
		"by a later flag":   {[]string{"hostexec", "--env", "A=b", "--timeout=50ms", "make"}, "HOSTEXEC_TIMEOUT=1h", func(*peer) {}},
		"by the other flag": {[]string{"hostexec", "--timeout=50ms", "make"}, "HOSTEXEC_JSON=1", func(*peer) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeHost(t)
			c := s.command(tt.args...)
			c.Env = append(c.Env, tt.env)
			c.Stderr = &c.stderr
			c.start()
			p := s.accept()
			if p.req.Passed&^1 != 0 || p.req.FDs[2] != wire.FDPipe {
				t.Errorf("it passed %b of %v, want a pipe as 2, and at most 0 passed", p.req.Passed, p.req.FDs)
				p.drop()
			}
			tt.host(p)
			c.wantExit(124)
			text := c.stderr.String()
			if !strings.HasPrefix(text, "hostexec: timeout waiting for host to execute command\nhostexec: hint: ") {
				t.Errorf("it says %q", text)
			}
			if json := strings.Contains(text, `{"status":"timeout","code":124,`); json != (tt.env == "HOSTEXEC_JSON=1") {
				t.Errorf("it says %q", text)
			}
		})
	}
}

// TestUndecided checks a host that never chooses a carrier, for a call with a time limit.
func TestUndecided(t *testing.T) {
	s := newFakeHost(t)
	s.sock.Close()
	s.decide("undecided")
	c := s.command("make")
	c.Env = append(c.Env, "HOSTEXEC_TIMEOUT=50ms", "TEST_PATIENCE=1h")
	c.start()
	c.wantExit(124)
}

// TestHostThatEnds checks a host that reports the timeout in time, and then takes a while to end the command. The shim must
// wait for the result. A call that follows a job has no limit.
func TestHostThatEnds(t *testing.T) {
	for _, args := range [][]string{{"make"}, {"hostexec", "wait", "job"}, {"hostexec", "logs", "-f", "job"}} {
		s := newFakeHost(t)
		c := s.command(args...)
		c.Env = append(c.Env, "HOSTEXEC_TIMEOUT=500ms", "TEST_FINISHING=1m")
		c.start()
		p := s.accept()
		if args[0] == "make" {
			for range 20 { // longer than the time limit and the time to report it
				p.send(wire.KindNotice, nil)
				time.Sleep(100 * time.Millisecond)
			}
		} else {
			time.Sleep(2 * time.Second)
		}
		p.exit(wire.Exit{Outcome: wire.Exited, Code: 7})
		c.wantExit(7)
	}
}

// TestHostThatDoesNotEnd checks a host that reports the timeout, and then never ends the call.
func TestHostThatDoesNotEnd(t *testing.T) {
	s := newFakeHost(t)
	c := s.command("make")
	c.Env = append(c.Env, "HOSTEXEC_TIMEOUT=50ms", "TEST_FINISHING=50ms")
	c.start()
	p := s.accept()
	var reports sync.WaitGroup
	// ends with the call.
	reports.Go(func() {
		for err := error(nil); err == nil; {
			_, err = p.Write(wire.AppendFrame(nil, wire.KindNotice, nil))
		}
	})
	c.wantExit(124)
	reports.Wait()
}

// drop closes the received descriptors, so that only the shim holds the pipe that the test reads.
func (p *peer) drop() {
	for _, f := range p.fds {
		f.Close()
	}
}

func TestDuration(t *testing.T) {
	const none = -1
	for text, want := range map[string]time.Duration{
		"0": 0, "5": 5 * time.Second, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "200ms": 200 * time.Millisecond, "1m5s": 65 * time.Second,
		"1.5": 2 * time.Second, "0.2s": time.Second, "1.5h": 2 * time.Hour, "1.": time.Second, "0.0000000001": time.Second,
		"0.0": 0, "0.000000000": 0, "00": 0, "0s": 0, "0.00h": 0, "2.0": 2 * time.Second, "1.00h0.0m": time.Hour,
		"": none, "s": none, "soon": none, "-5": none, "5x": none, "5 s": none, ".5": none, "1h30": time.Hour + 30*time.Second,
		"99999999999999999999999999": 1 << 20 * time.Second, "9999999999h9999999999h9999999999h": 0,
	} {
		got, ok := duration(text)
		if !ok {
			got = none
		}
		if got != want {
			t.Errorf("duration(%q) = %v, want %v", text, got, want)
		}
	}
}

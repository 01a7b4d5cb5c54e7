// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// racingAnswers approves and denies each question at the same time.
type racingAnswers struct {
	x       *chaos
	stop    chan struct{}
	done    sync.WaitGroup
	asked   int
	settled int
	both    []string // questions that two answers settled
}

func (a *racingAnswers) begin(x *chaos) {
	a.x, a.stop = x, make(chan struct{})
	// ends with stop.
	a.done.Go(func() {
		for {
			select {
			case <-a.stop:
				return
			case <-time.After(50 * time.Millisecond):
				a.answer()
			}
		}
	})
}

// answer answers all questions that wait. Docker's verbs may fail, because watchers are killed meanwhile.
func (a *racingAnswers) answer() {
	list, _ := a.x.verb("pending", "-q")
	for id := range strings.FieldsSeq(list) {
		var codes [2]int
		var both sync.WaitGroup
		for i, verb := range []string{"approve", "deny"} {
			both.Go(func() { _, codes[i] = a.x.verb(verb, id) })
		}
		both.Wait()
		a.asked++
		switch {
		case codes[0] == 0 && codes[1] == 0:
			a.both = append(a.both, id)
		case codes[0] == 0 || codes[1] == 0:
			a.settled++
		}
	}
}

func (a *racingAnswers) end() {
	close(a.stop)
	a.done.Wait()
}

// verb runs a verb of docker hostexec, which may fail. It returns its stdout and code.
func (x *chaos) verb(args ...string) (string, int) {
	cmd := x.Command(x.t.Context(), "docker", append([]string{"hostexec"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run() // the code tells
	return out.String(), exitCode(cmd.ProcessState)
}

// proxiedRuns starts containers behind an API proxy, one after the other. A fault may kill the proxy.
type proxiedRuns struct {
	x       *chaos
	stop    chan struct{}
	done    sync.WaitGroup
	started int
}

func (p *proxiedRuns) begin(x *chaos, flags []string) {
	p.x, p.stop = x, make(chan struct{})
	img := image(x.t, "full")
	script := `while docker run --rm --label "$1" --label io.hostexec.chaos -v "$PWD:/w" -w /w "$2" hload work "$3" proxied-$$-$((n=n+1)) exit 7; [ $? = 7 ] && echo ran; do :; done`
	args := with(append(slices.Clone(flags), "--all"), "bash", "-c", script, "bash", runLabel, img, x.evidenceFile())
	// ends with stop.
	p.done.Go(func() {
		for {
			select {
			case <-p.stop:
				return
			default:
			}
			cmd := x.Command(x.t.Context(), "docker", args...)
			out, err := cmd.StdoutPipe()
			if err != nil || cmd.Start() != nil {
				return
			}
			p.count(cmd, out)
		}
	})
}

// count counts the containers of one proxy, and ends it when no more are wanted.
func (p *proxiedRuns) count(cmd *exec.Cmd, out interface{ Read([]byte) (int, error) }) {
	lines := newScanner(out)
	for lines.Scan() {
		p.started++
		select {
		case <-p.stop:
			cmd.Process.Signal(unix.SIGTERM)
		default:
		}
	}
	_ = cmd.Wait() // it may have been killed
}

func (p *proxiedRuns) end() {
	close(p.stop)
	p.done.Wait()
}

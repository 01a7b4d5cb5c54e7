// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A load makes calls of all kinds until a file exists, and writes a line of JSON for each. Calls at a fixed rate start
// on time, even if earlier ones have not ended.

// loadCall is what became of one call.
type loadCall struct {
	Token   string // unique
	Kind    string
	Timeout float64 // seconds; 0: none
	Start   time.Time
	Took    float64 // seconds
	Code    int     // 128+n after signal n
	Bytes   int     // of stdout

	Expected bool   // the code is that of an undisturbed call
	Problem  string `json:",omitempty"` // that the caller alone can see
	Stderr   string `json:",omitempty"` // of a call that failed
}

// loadKind is a kind of call. args follow the file for evidence and the token.
type loadKind struct {
	command []string
	args    []string
	code    int // of an undisturbed call
	bytes   int // of stdout of a call with this code; -1: any
}

// outputSize is the output of the kind "output".
const outputSize = 1 << 18

var loadKinds = map[string]loadKind{
	"quick":  {command: []string{"hload"}, args: []string{"exit", "7"}, code: 7},
	"slow":   {command: []string{"hload"}, args: []string{"sleep", "1"}, code: 7},
	"late":   {command: []string{"hload"}, args: []string{"sleep", "1000"}, code: 124},
	"deaf":   {command: []string{"hload"}, args: []string{"deaf", "1000"}, code: 124},
	"output": {command: []string{"hload"}, args: []string{"output", strconv.Itoa(outputSize)}, code: 7, bytes: outputSize},
	"memory": {command: []string{"hload"}, args: []string{"memory"}, code: 137},
	"job":    {command: []string{"hostexec", "-d", "hload"}, args: []string{"sleep", "1"}, code: 0, bytes: -1},
	"asked":  {command: []string{"hask"}, args: []string{"exit", "7"}, code: 7},
}

// load has the arguments OUT STOP EVIDENCE PER-SECOND WORKERS KIND... If PER-SECOND is 0, each worker makes calls of
// the kinds, one after the other. Otherwise all workers together make PER-SECOND calls a second. When the file STOP
// exists and the last call has ended, load writes the line "ended" to OUT, and waits for TERM.
func load(args []string) error {
	if len(args) < 6 {
		return errors.New("wants OUT STOP EVIDENCE PER-SECOND WORKERS KIND, and more KINDs")
	}
	rate, err := strconv.ParseFloat(args[3], 64)
	workers, werr := strconv.Atoi(args[4])
	out, oerr := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err = errors.Join(err, werr, oerr); err != nil {
		return err
	}
	l := &loader{evidence: args[2], kinds: args[5:], out: json.NewEncoder(out), ended: make(chan struct{})}
	// ends when the file exists.
	go func() {
		defer close(l.ended)
		for {
			if _, err := os.Stat(args[1]); err == nil {
				return
			}
			<-time.After(100 * time.Millisecond)
		}
	}()
	if rate > 0 {
		l.paced(time.Duration(float64(time.Second) / rate))
	} else {
		l.work(workers)
	}
	if _, err := fmt.Fprintln(out, "ended"); err != nil {
		return err
	}
	wait := make(chan os.Signal, 1)
	signal.Notify(wait, syscall.SIGTERM) // a program that waits for nothing at all ends
	<-wait
	return nil
}

type loader struct {
	evidence string
	kinds    []string
	ended    chan struct{}
	calls    sync.WaitGroup

	mu  sync.Mutex // guards the fields below
	out *json.Encoder
	n   int
}

func (l *loader) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// work makes calls one after the other in each of n workers.
func (l *loader) work(n int) {
	for range n {
		l.calls.Go(func() {
			for !l.over() {
				l.call()
			}
		})
	}
	l.calls.Wait()
}

// paced starts a call each interval.
func (l *loader) paced(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.calls.Go(l.call)
		case <-l.ended:
			l.calls.Wait()
			return
		}
	}
}

func (l *loader) call() {
	l.mu.Lock()
	l.n++
	host, _ := os.Hostname()
	c := loadCall{Token: host + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(l.n), Kind: l.kinds[rand.IntN(len(l.kinds))]}
	l.mu.Unlock()
	kind := loadKinds[c.Kind]
	c.Timeout = float64(3 + rand.IntN(3)) // "slow" takes a second
	if kind.code == 124 {
		c.Timeout = 1
	}
	argv := append(append(kind.command, "work", l.evidence, c.Token), kind.args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "HOSTEXEC_TIMEOUT="+strconv.FormatFloat(c.Timeout, 'f', -1, 64)+"s")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	c.Start = time.Now()
	err := cmd.Run()
	c.Took, c.Bytes, c.Code = time.Since(c.Start).Seconds(), out.Len(), -1
	if st := cmd.ProcessState; st != nil {
		c.Code = st.ExitCode()
		if ws := st.Sys().(syscall.WaitStatus); ws.Signaled() {
			c.Code = 128 + int(ws.Signal())
		}
	} else {
		c.Problem = err.Error()
	}
	c.Expected = c.Code == kind.code
	if c.Expected && kind.bytes >= 0 && c.Bytes != kind.bytes {
		c.Problem = fmt.Sprintf("%d bytes of output, want %d", c.Bytes, kind.bytes)
	}
	if !c.Expected {
		c.Stderr = strings.ToValidUTF8(errs.String(), "?")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Encode(c); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// work is the host's command of a load: it leaves evidence that it runs, with the request's ID, and does what its
// arguments say.
func work(args []string) error {
	if len(args) < 3 {
		return errors.New("wants EVIDENCE TOKEN exit|sleep|deaf|output|memory [N]")
	}
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, os.Getenv("HOSTEXEC_REQUEST_ID"), args[1]); err != nil {
		return err
	}
	f.Close()
	n := 7
	if len(args) > 3 {
		if n, err = strconv.Atoi(args[3]); err != nil {
			return err
		}
	}
	switch args[2] {
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fallthrough
	case "sleep":
		<-time.After(time.Duration(n) * time.Second)
	case "output":
		chunk := bytes.Repeat([]byte("x"), 4096)
		for ; n > 0; n -= len(chunk) {
			if _, err := os.Stdout.Write(chunk[:min(n, len(chunk))]); err != nil {
				return err
			}
		}
	case "memory":
		return eatMemory()
	case "exit":
		os.Exit(n)
	}
	os.Exit(7)
	return nil
}

// eatMemory fills memory in a control group with a small limit, until the kernel ends this process.
func eatMemory() error {
	if err := os.WriteFile(os.Getenv("MEMORY_GROUP")+"/cgroup.procs", []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return err
	}
	var all [][]byte
	for {
		page := make([]byte, 1<<20)
		for i := range page {
			page[i] = 1
		}
		all = append(all, page)
		if len(all) > 1000 {
			return errors.New("the control group has no limit")
		}
	}
}

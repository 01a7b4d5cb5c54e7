// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// ProgramName is the argv[0] of the program that serves a shell in a container or a sandbox, without its directory.
const ProgramName = "hostexec-shell"

// The first argument of the program.
const (
	serveArg = "serve"
	sweepArg = "sweep" // and a session: end the processes that another program has left
)

// Serve is the main function of the program that serves one shell in a container or a sandbox, over stdin and stdout.
// It returns the exit code when the host has ended the shell or has gone, and nothing of the shell is left. With sweep,
// it ends what an earlier program has left.
func Serve(args []string) int {
	var err error
	switch {
	case len(args) == 2 && args[1] == serveArg:
		err = serve(os.Stdin, os.Stdout)
	case len(args) == 3 && args[1] == sweepArg && nameForm.Matches(args[2]):
		_, err = proctree.EndSessionProcesses(args[2], proctree.DefaultGrace)
		for _, dir := range outputDirs() {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, outputDir(args[2]))))
		}
	default:
		err = errors.New("docker hostexec starts this program in a container, to run a shell")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostexec:", err)
		return 125
	}
	return 0
}

// server serves one shell.
type server struct {
	table *Table
	shell *Shell
	bash  string

	running sync.WaitGroup // commands, and waits for the end of bash

	writing sync.Mutex // held while a frame is written
	out     io.Writer

	mu       sync.Mutex // guards the fields below
	commands map[uint32]*servedCommand
	watched  process // the process whose end will be reported
}

// shellName is the name of the only shell of a server's table.
const shellName = "shell"

// serve handles the host's frames until the host ends it or disconnects.
func serve(in io.Reader, out io.Writer) error {
	s := &server{out: out, commands: map[uint32]*servedCommand{}}
	r := bufio.NewReader(in)
	var f frame
	if err := readFrame(r, &f, hostLimit); err != nil {
		return err
	}
	var setup setupRequest
	if f.kind != frameSetup || json.Unmarshal(f.payload, &setup) != nil || !nameForm.Matches(setup.ID) {
		return errInvalid
	}
	host, dir, err := s.setUp(setup)
	if err != nil {
		s.send(frameRefused, 0, []byte(err.Error()))
		return err
	}
	s.send(frameReady, 0, nil)
	ended := s.serve(r)
	s.table.Remove(shellName)
	s.stopCommands()
	s.running.Wait()
	err = errors.Join(s.table.Close(), host.Close(), os.RemoveAll(dir))
	if ended && err == nil {
		s.send(frameOver, 0, nil)
	}
	return err
}

// setUp makes the table, and its directory.
func (s *server) setUp(setup setupRequest) (host *executor.Host, dir string, err error) {
	if s.bash, err = exec.LookPath(cmp.Or(string(setup.Bash), "bash")); err != nil {
		return nil, "", errors.New("it has no bash, and shells with state are bash: install it in the image")
	}
	if dir, err = makeOutputDir(setup.ID); err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	start := string(setup.Dir)
	if !filepath.IsAbs(start) {
		here, err := os.Getwd()
		if err != nil {
			here = "/"
		}
		start = filepath.Join(here, start)
	}
	log := slog.New(slog.DiscardHandler)
	if host, err = executor.NewHost(log); err != nil {
		return nil, "", err
	}
	// A text must not end its server by kill 0, nor the host by a closed pipe. Handled, not ignored, so that
	// commands have the default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE)
	host.Session = setup.ID
	// Output waits on the container's disk, to which the container's own limits apply.
	unlimited := new(limit.Session)
	unlimited.Adjust(limit.Limits{limit.Spool: math.MaxInt64})
	s.table = &Table{Runner: host, Dir: filepath.Join(dir, "shells"), Log: log, Limits: unlimited, ReplyTimeout: time.Duration(setup.ReplyTimeout) * time.Millisecond}
	err = s.table.Create(shellName, Options{Env: stringsOf(setup.Env), Dir: start, ByContainer: setup.ByContainer, DefaultDir: setup.DefaultDir})
	if err == nil {
		s.shell, err = s.table.Find(shellName)
	}
	return host, dir, err
}

// outputDirs are where the files of commands may be. Programs need not run from there.
func outputDirs() []string { return []string{os.Getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"} }

func outputDir(id string) string { return "hostexec-output-" + id }

// makeOutputDir makes a directory for the files of commands.
func makeOutputDir(id string) (string, error) {
	for _, parent := range outputDirs() {
		dir := filepath.Join(parent, outputDir(id))
		if !filepath.IsAbs(parent) || os.Mkdir(dir, 0o700) != nil {
			continue
		}
		fifo := filepath.Join(dir, "fifo")
		if mkfifo(fifo) == nil { // not every file system has them
			return dir, os.Remove(fifo)
		}
		os.Remove(dir)
	}
	return "", errors.New("none of $TMPDIR, /tmp, /var/tmp and /dev/shm can be written to, and has FIFOs")
}

// serve handles the host's frames until the host ends the shell, disconnects or sends an invalid frame. It reports
// whether the host has ended the shell.
func (s *server) serve(in io.Reader) (ended bool) {
	var f frame
	for {
		if err := readFrame(in, &f, hostLimit); err != nil {
			return false
		}
		n, err := number(f.payload)
		s.mu.Lock()
		c := s.commands[f.command]
		s.mu.Unlock()
		switch {
		case f.kind == frameRun && c == nil:
			err = s.run(f.command, f.payload)
		case err != nil:
		case f.kind == frameEnd:
			s.table.SetGrace(time.Duration(n) * time.Millisecond)
			return true
		case c == nil: // it has just ended
		case f.kind == frameCredit:
			err = c.credit.Give(n)
		case f.kind == frameCancel:
			c.cancel(endError{time.Duration(n) * time.Millisecond})
		}
		if err != nil {
			return false
		}
	}
}

// send sends a frame. If the host is gone, serve ends.
func (s *server) send(kind frameKind, command uint32, payload []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.out.Write(appendFrame(nil, kind, command, payload))
}

// reportState reports bash's state to the host, now and when it has ended.
func (s *server) reportState() {
	s.shell.mu.Lock()
	p := s.shell.process
	s.shell.mu.Unlock()
	if p == nil {
		return
	}
	s.mu.Lock()
	watch := s.watched != p
	s.watched = p
	s.mu.Unlock()
	if watch {
		// Ends with bash, which the table's Close ends.
		s.running.Go(func() {
			p.wait()
			s.sendState(p)
		})
	}
	s.sendState(p)
}

// sendState sends the state of p unless there is a later process.
func (s *server) sendState(p process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched == p {
		dir := p.cwd()
		s.send(frameState, 0, append(encodeNumber(int64(p.pid())), dir[:min(len(dir), maxReply/2)]...))
	}
}

// stopCommands makes all commands stop waiting for the host.
func (s *server) stopCommands() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		c.credit.Close()
	}
}

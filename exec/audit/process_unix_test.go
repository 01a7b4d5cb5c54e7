// SPDX-License-Identifier: Apache-2.0

//go:build unix

package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// TestMain runs this process as a writer if the environment says so.
func TestMain(m *testing.M) {
	if path := os.Getenv("AUDIT_TEST_LOG"); path != "" {
		if err := writer(path, os.Getenv("AUDIT_TEST_SESSION"), os.Getenv("AUDIT_TEST_HOW")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writer writes START and COMPLETE of one request after the other, and prints a line after each
// START. No other writer uses its request IDs.
func writer(path, session, how string) error {
	opts := Options{}
	n := 1 << 30
	switch how {
	case "rotate":
		opts.Rotate, n = 20_000, 150
	case "full":
		signal.Ignore(syscall.SIGXFSZ)
		limit := unix.Rlimit{Cur: 3000, Max: 3000}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
	}
	l, err := Open(path, SessionInfo{Session: session}, opts)
	if err != nil {
		return err
	}
	defer l.Close()
	for i := range n {
		id := session + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(i)
		r := Record{Kind: Start, Request: id, Args: []string{"make"}}
		if how == "" && i%3 == 0 { // more than a page, so that a kill can interrupt the write
			r.Args = append(r.Args, strings.Repeat("x", rand.IntN(8000)))
		}
		if err := l.Write(r); err != nil {
			return err
		}
		fmt.Println(id)
		r.Kind = Complete
		if err := l.Write(r); err != nil {
			return err
		}
	}
	return nil
}

// start starts a writer and returns the writer's output.
func start(path, session, how string) (*exec.Cmd, *bufio.Reader, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_TEST_LOG="+path, "AUDIT_TEST_SESSION="+session, "AUDIT_TEST_HOW="+how)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	return cmd, bufio.NewReader(out), err
}

// TestKilled kills writers at random times, and starts the next one in the same chain. Each START
// that a writer reported is in the log, and the log has no faults.
//
// Attack 134.
func TestKilled(t *testing.T) {
	t.Parallel()
	const sessions, rounds = 4, 5
	kills := exectest.Scaled(2000, 100)
	logs := kills / sessions / rounds
	torn := 0
	for range logs {
		path := filepath.Join(t.TempDir(), "audit.log")
		var wg sync.WaitGroup
		told := make([][]string, sessions)
		for s := range sessions {
			// ends when its last writer is killed
			wg.Go(func() {
				for range rounds {
					told[s] = append(told[s], killed(t, path, fmt.Sprintf("%012d", s))...)
				}
			})
		}
		wg.Wait()
		write(t, open(t, path, Options{}), Deny, "the last") // also ends an incomplete line
		torn += checkKilled(t, path, told)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d writers were killed in the middle of a line", torn, kills)
}

// killed runs a writer until it is killed, and returns the request IDs that the writer reported.
func killed(t *testing.T, path, session string) (told []string) {
	cmd, out, err := start(path, session, "")
	if err != nil {
		t.Error(err)
		return nil
	}
	for range rand.IntN(4) {
		id, err := out.ReadString('\n')
		if err != nil {
			t.Errorf("the writer ended by itself: %v", err)
			return nil
		}
		told = append(told, id)
	}
	for begin, wait := time.Now(), time.Duration(rand.IntN(300_000)); time.Since(begin) < wait; {
	}
	cmd.Process.Kill()
	for {
		id, err := out.ReadString('\n')
		if err != nil {
			break
		}
		told = append(told, id)
	}
	cmd.Wait()
	return told
}

func checkKilled(t *testing.T, path string, told [][]string) (torn int) {
	t.Helper()
	starts := map[string]int{}
	for _, line := range lines(t, path) {
		if e, err := Parse(line); err == nil && e.Kind == Start {
			starts[e.Request]++
		}
	}
	for _, ids := range told {
		for _, id := range ids {
			if id = strings.TrimSpace(id); starts[id] != 1 {
				t.Errorf("%d START of request %s", starts[id], id)
			}
		}
	}
	rep := verify(t, path)
	for _, f := range rep.Faults {
		t.Error(f)
	}
	return rep.Incomplete
}

// TestProcesses checks several processes that write to one log and rotate it.
func TestProcesses(t *testing.T) {
	const writers = 6
	path := filepath.Join(t.TempDir(), "audit.log")
	var wg sync.WaitGroup
	for i := range writers {
		// ends with the writer, which writes a limited number of records.
		wg.Go(func() {
			cmd, out, err := start(path, fmt.Sprintf("%012d", i), "rotate")
			if err != nil {
				t.Error(err)
				return
			}
			said, err := io.ReadAll(out)
			if err = errors.Join(err, cmd.Wait()); err != nil {
				t.Errorf("writer: %v: %s", err, said)
			}
		})
	}
	wg.Wait()
	rep := verifyLog(t, path)
	if len(rep.Faults) != 0 || rep.Records != writers*300 || rep.Chains != writers || rep.Incomplete != 0 || len(rep.Unfinished) != 0 {
		t.Errorf("report = %+v, want %d records in %d chains", rep, writers*300, writers)
	}
	if full, _ := rotated(path); len(full) < 10 {
		t.Errorf("only %d files were put aside", len(full))
	}
}

// TestDiskFull checks a full disk: START returns an error and the log stays readable. The chain
// continues later.
//
// Attack 133.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	cmd, out, err := start(path, session, "full")
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(string(said), "write audit log: ") {
		t.Fatalf("the writer ended with %v and said %s", err, said)
	}
	l := open(t, path, Options{})
	write(t, l, Start, "make")
	if rep := verify(t, path); len(rep.Faults) != 0 || rep.Incomplete != 1 {
		t.Errorf("report = %+v, want half a line and no fault", rep)
	}
}

// TestLocked checks that a process that keeps the lock does not block writers forever.
func TestLocked(t *testing.T) {
	t.Parallel() // it waits for a timeout
	path := filepath.Join(t.TempDir(), "audit.log")
	l := open(t, path, Options{})
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := lock(f); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(Record{Kind: Start, Args: []string{"make"}}); !errors.Is(err, errLocked) {
		t.Errorf("error = %v, want %v", err, errLocked)
	}
}

// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// used is how much all jobs have on disk.
func used(t *testing.T, dir string) (n int64) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		n += sizeOf(d)
	}
	return n
}

// spill writes to j until nothing more is kept, in pieces that cost as much as they can: each
// byte of the one stream breaks a line of the other's.
func spill(t *testing.T, j *Job) {
	t.Helper()
	for s := j.Streams(); j.Info().Dropped == 0; {
		s.Out.Write([]byte{1})
		s.Err.Write([]byte{2})
	}
}

// However they write, jobs have no more on disk than there is for all; each leaves as much
// free as it has, so that the next one has some, too.
//
// Attack 141.
func TestDisk(t *testing.T) {
	const disk = 64 << 10
	table, dir := open(t)
	table.Adjust(Limits{Disk: disk})
	for n := range 5 {
		j := begin(t, table, id(n), "yes")
		spill(t, j)
		if got, least := sizeOf(j.dir), int64(disk>>(n+1))-16; got < least || got > least+16 {
			t.Errorf("job %d has %d bytes on disk, want about %d", n, got, least)
		}
	}
	if got := used(t, dir); got > disk {
		t.Errorf("%d bytes on disk, at most %d are allowed", got, disk)
	}
}

// What has ended makes room for what runs, the oldest first, and for a limit that was lowered.
func TestDiskOfEnded(t *testing.T) {
	const disk = 64 << 10
	table, dir := open(t)
	table.Adjust(Limits{Disk: disk})
	line := bytes.Repeat([]byte("x"), disk/8-16) // and as much in the combined log
	for n := range 3 {
		j := begin(t, table, id(n), "echo")
		j.Streams().Out.Write(line)
		end(t, j, Completed, executor.Status{})
	}
	spill(t, begin(t, table, id(9), "yes"))
	for ref, want := range map[string]error{id(0): ErrUnknown, id(1): nil, id(2): nil, id(9): nil} {
		if _, err := table.Find(ref); !errors.Is(err, want) {
			t.Errorf("Find(%s) = %v, want %v", ref, err, want)
		}
	}
	table.Adjust(Limits{Output: 1, Disk: disk / 2})
	if got := used(t, dir); got > disk/2+16 || len(table.All()) != 1 {
		t.Errorf("%d bytes of %d jobs", got, len(table.All()))
	}
	j := begin(t, table, id(10), "echo")
	j.Streams().Out.Write([]byte("ab"))
	if i := j.Info(); i.Stdout != 0 || i.Dropped != 2 {
		t.Errorf("what runs has all, and %+v", i)
	}
	again, err := Open(dir)
	if err != nil || again.kept != used(t, dir) {
		t.Errorf("opened again it knows of %d bytes: %v", again.kept, err)
	}
}

// Of a job whose watcher was killed its files tell what there is to know.
func TestAbandoned(t *testing.T) {
	table, dir := open(t)
	j := begin(t, table, id(1), "make")
	j.Streams().Out.Write([]byte("half a li"))
	got, err := Read(dir)
	if err != nil || len(got) != 1 {
		t.Fatalf("Read = %v, %v", got, err)
	}
	if i := got[0]; i.Status != Killed || i.Code != 137 || i.Signal != "KILL" || i.Stdout != 9 || i.Ended.Before(i.Started) || i.Reason == "" {
		t.Errorf("Read = %+v", i)
	}
	var out bytes.Buffer
	info, err := Copy(t.Context(), dir, id(1), &Parser{Out: &out, Err: &out}, func() bool { return false })
	if err != nil || out.String() != "half a li" || info.Status != Running {
		t.Errorf("Copy: %q, %v, %v", out.String(), info.Status, err)
	}
}

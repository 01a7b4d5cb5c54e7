// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// used returns the bytes on disk of all jobs.
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

// dropOutput writes to j until output is dropped, in the most expensive pieces: each byte of one stream
// interrupts a line of the other stream.
func dropOutput(t *testing.T, j *Job) {
	t.Helper()
	for s := j.Streams(); j.Info().Dropped == 0; {
		s.Out.Write([]byte{1})
		s.Err.Write([]byte{2})
	}
}

// TestDisk checks that all jobs together stay within the disk limit. Each job leaves as much free
// as it uses, so that the next job has space.
//
// Attack 141.
func TestDisk(t *testing.T) {
	const disk = 64 << 10
	table, dir := open(t)
	table.Adjust(Limits{Disk: disk})
	for n := range 5 {
		j := begin(t, table, id(n), "yes")
		dropOutput(t, j)
		if got, least := sizeOf(j.dir), int64(disk>>(n+1))-16; got < least || got > least+16 {
			t.Errorf("job %d has %d bytes on disk, want about %d", n, got, least)
		}
	}
	if got := used(t, dir); got > disk {
		t.Errorf("%d bytes on disk, at most %d are allowed", got, disk)
	}
}

// TestDiskOfEnded checks that the oldest ended jobs are removed for running jobs, and for a lower
// limit.
func TestDiskOfEnded(t *testing.T) {
	const disk = 64 << 10
	table, dir := open(t)
	table.Adjust(Limits{Disk: disk})
	line := bytes.Repeat([]byte("x"), disk/8-16) // and the same amount in the combined log
	for n := range 3 {
		j := begin(t, table, id(n), "echo")
		j.Streams().Out.Write(line)
		end(t, j, Completed, executor.Status{})
	}
	dropOutput(t, begin(t, table, id(9), "yes"))
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
	if err != nil || again.endedBytes != used(t, dir) {
		t.Errorf("opened again it knows of %d bytes: %v", again.endedBytes, err)
	}
}

// TestOpenKeepsAll checks that jobs of a session with a higher limit than the default survive its next watcher.
func TestOpenKeepsAll(t *testing.T) {
	table, dir := open(t)
	const large = defaultDisk + 1 // of a sparse file
	table.Adjust(Limits{Disk: 2 * large})
	j := begin(t, table, id(1), "make")
	j.Streams().Out.Write([]byte("x"))
	end(t, j, Completed, executor.Status{})
	if err := os.Truncate(filepath.Join(j.dir, stdoutFile), large); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	again.Adjust(Limits{Disk: 2 * large})
	if _, err := again.Find(id(1)); err != nil {
		t.Error(err)
	}
	again.Adjust(Limits{})
	if _, err := again.Find(id(1)); !errors.Is(err, ErrUnknown) {
		t.Errorf("a job beyond the limit: %v", err)
	}
}

// TestAbandoned checks that the files of a job determine its status after its watcher was killed.
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

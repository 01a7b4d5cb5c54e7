// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// proxying returns the served directory of requests for make below ws/base. All callers can write
// ws.
func proxying(t *testing.T) (d *requestDirs, ws string, requests files.RequestDir) {
	t.Helper()
	top := t.TempDir()
	ws = filepath.Join(top, "ws")
	if err := errors.Join(os.MkdirAll(ws+"/base", 0o700), os.Mkdir(ws+"/victim", 0o700)); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	rec := state.Session{Commands: []state.Command{{Name: "make"}}, Proxy: &state.Proxy{Base: ws + "/base", RelativePath: "requests", Flat: true}}
	d = &requestDirs{record: watch.NewRecord(&state.Store{Home: filepath.Join(top, "home")}, rec, log), log: log}
	if err := d.hold(); err != nil {
		t.Fatal(err)
	}
	dirs, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { errors.Join(dirs[0].Dir.Close(), d.close()) })
	return d, ws, dirs[0]
}

// TestRenewReplacedBase deletes the directory of requests, and puts a link in place of the directory above it. Nothing
// is made at the target of the link, and nothing is served there.
//
// Attack 226.
func TestRenewReplacedBase(t *testing.T) {
	_, ws, requests := proxying(t)
	if err := errors.Join(os.RemoveAll(ws+"/base/requests"), os.Rename(ws+"/base", ws+"/old"), os.Symlink("victim", ws+"/base")); err != nil {
		t.Fatal(err)
	}
	if requests.Dir.InPlace() {
		t.Fatal("it counts as served")
	}
	if again, err := requests.Renew(); err == nil {
		t.Errorf("renewed as %s", again.Dir.Path())
	}
	for _, at := range []string{"victim", "old"} {
		if left, err := os.ReadDir(filepath.Join(ws, at)); err != nil || len(left) > 0 {
			t.Errorf("%s has %v, %v", at, left, err)
		}
	}
	if err := errors.Join(os.Remove(ws+"/base"), os.Rename(ws+"/old", ws+"/base")); err != nil {
		t.Fatal(err)
	}
	again, err := requests.Renew()
	if err != nil {
		t.Fatalf("when it is back: %v", err)
	}
	again.Dir.Close()
}

// TestRenewLeavesNothing creates the request directory again and again: the host keeps no file of
// the earlier ones.
//
// Attack 227.
func TestRenewLeavesNothing(t *testing.T) {
	d, ws, requests := proxying(t)
	before := d.allNotes(nil)
	for i := range 5 {
		at := ws + "/base/requests"
		if err := os.Rename(at, at+string(rune('a'+i))); err != nil { // so that no inode comes again
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(at, 0o700), os.WriteFile(at+"/make.pid", []byte{'4', '1', '9', '4', '9', '9', byte('0' + i)}, 0o600)); err != nil {
			t.Fatal(err)
		}
		again, err := requests.Renew()
		if err != nil {
			t.Fatal(err)
		}
		requests.Dir.Close()
		requests = again
	}
	defer requests.Dir.Close()
	locks, err := filepath.Glob(filepath.Join(d.record.Store.Home, "proxies", "*"))
	if err != nil || len(locks) != 1 {
		t.Errorf("directories of locks: %v, %v, want 1", locks, err)
	}
	if after := d.allNotes(nil); !slices.Equal(before, after) {
		t.Errorf("notes: %q, before: %q", after, before)
	}
}

// TestRepair deletes the client and the PID file: they are put back while the session lasts.
func TestRepair(t *testing.T) {
	d, ws, requests := proxying(t)
	client := filepath.Join(ws, "base", "requests", "make")
	there := func() bool {
		_, err := os.Stat(client)
		_, perr := os.Stat(client + pidSuffix)
		return err == nil && perr == nil
	}
	if err := d.publish(); err != nil || !there() {
		t.Fatalf("not published: %v", err)
	}
	for _, name := range []string{client, client + pidSuffix} {
		if err := errors.Join(os.Remove(name), requests.Repair()); err != nil || !there() {
			t.Errorf("without %s: %v, there %v", filepath.Base(name), err, there())
		}
	}
	d.unpublish()
	if err := requests.Repair(); err != nil || there() {
		t.Errorf("after the end: %v, there %v", err, there())
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestIntegrationFiftySessions calls from fifty containers at once, each with its own session.
//
// Attack 143.
func TestIntegrationFiftySessions(t *testing.T) {
	const n, long = 50, 5 * patience // the machine has other things to do
	h := newHost(t, os.Getuid() == 0)
	busybox := image(t, "busybox")
	begun := time.Now()
	ids := make([]string, n)
	var wg sync.WaitGroup
	for i := range ids {
		// ends with docker; the test waits below.
		wg.Go(func() {
			r := h.feedFor(t, long, "", "docker", h.runArgs("-d", "--network", "none", "--proxy", "hsh=/bin/sh", busybox, "sh", "-c", "hsh -c 'echo called'; exec sleep 1000")...)
			ids[i] = strings.TrimSpace(r.Out)
			if r.Code != 0 {
				t.Errorf("session %d: %v", i, r)
			}
		})
	}
	wg.Wait()
	remove := append([]string{"rm", "-f"}, ids...)
	t.Cleanup(func() { h.feedFor(t, long, "", "docker", remove...) })
	if t.Failed() {
		t.FailNow()
	}
	eventually(t, long, "each has called", func() bool {
		return strings.Count(h.Must(t, "hostexec", "status", "--format", "{{.State}} {{.Calls}}"), "running 1\n") == n
	})
	want(t, "records of what they called", len(h.Audit(t, "COMPLETE", "echo called", "exit=0")), n)
	memory := 0
	for _, dir := range h.Sessions(t) {
		memory += statusNum(t, h.Watcher(t, dir[len(dir)-12:]).PID, "RssAnon")
	}
	t.Logf("%d sessions: %s until each had called, %d KiB RssAnon for each watcher", n, time.Since(begun).Round(time.Millisecond), memory/n)
	want(t, "code of rm", h.feedFor(t, long, "", "docker", remove...).Code, 0)
	h.quiet(t, long)
}

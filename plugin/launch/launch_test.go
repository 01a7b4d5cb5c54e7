// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// A watcher that cannot start removes the session's directory, and the engine may then miss it.
// The watcher's reason is reported, not the engine's.
func TestExplainWatcher(t *testing.T) {
	l := &Launch{Plan: &Plan{}, Dir: filepath.Join(t.TempDir(), "gone"), Ready: make(chan struct{}), Err: errors.New("others may write audit.log")}
	close(l.Ready)
	err := l.explainRefusal(fmt.Errorf("invalid mount config: bind source path does not exist: %s", l.Dir))
	if err == nil || l.Failed != l.Err {
		t.Errorf("reported is %v, want %v", l.Failed, l.Err)
	}
}

// TestCreateAgain checks that Failed belongs to the last try.
func TestCreateAgain(t *testing.T) {
	l := &Launch{Failed: errors.New("no such image")}
	want := Creation{Config: &container.Config{}, Host: &container.HostConfig{}}
	if _, err := l.Create(t.Context(), &volumeEngine{}, want); !errdefs.IsNotFound(err) || l.Failed != nil {
		t.Errorf("%v, and Failed is %v", err, l.Failed)
	}
}

// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/exec/verb"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// collectAbove is how much memory a watcher may have before it collects as hard as it can. A
// thousand calls in flight come near to it, and are not to take more than 24 MiB: what is
// left to the collector's own pace alone is 2 MiB more on a busy machine than on an idle one.
const collectAbove = 22 << 20

// copies is how often a long request is in memory at most: as a frame, as strings, and as it
// is written down. What it holds is there to stay, and no collector gets it back.
const copies = 4

// newServer makes what serves calls. What they start runs by host.
func (w *Watcher) newServer(host *executor.Host) (err error) {
	w.notifier = w.newNotifier(host)
	w.containers = w.newContainers(host)
	w.queue = w.newQueue()
	w.server = &call.Server{Version: w.Version, Verbs: verb.Verbs{}, Runner: host, Queue: w.queue, Log: w.log, Environ: os.Environ(), Refresh: w.refresh}
	w.server.Shells = &shell.Pool{Runner: host, Dir: filepath.Join(w.Dir, "shells"), Log: w.log, Limits: &w.server.Limits}
	w.server.Memory = func(argv int64) { debug.SetMemoryLimit(collectAbove + copies*argv) }
	w.started = make(chan struct{}, 1)
	w.since = time.Now()
	w.server.Jobs, err = job.Open(state.JobsDir(w.Dir))
	return err
}

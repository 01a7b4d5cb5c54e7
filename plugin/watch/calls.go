// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
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

// Calls answers the session's calls. It has what the answers depend on: the directories that the callers
// share with this host, the policy, and the environment of commands.
type Calls struct {
	Server     *call.Server
	Questions  *Questions
	Containers *CallContainers

	record   *Record
	config   *Configuration
	others   *OtherSessions
	warnings *Warnings
	audit    *audit.Log
	log      *slog.Logger
	dirs     *mount.Table
	workdir  atomic.Pointer[string] // the container's working directory
}

// openCalls has s answer calls. What they start runs by host.
func (w *Watcher) openCalls(s *Session, host *executor.Host, log *audit.Log) (err error) {
	c := s.Calls
	c.audit = log
	c.Questions = newQuestions(s.Record, Notify(s.Config.Current().Notify), s.Others, c.notifierRunner(host), s.Log)
	c.Containers = newCallContainers(s.Record, w.Engine, w.Another, host, s.Log)
	c.Server = &call.Server{Version: w.Version, Verbs: verb.Verbs{}, Runner: host, Queue: c.Questions.queue, Log: s.Log, Environ: s.Config.Environ, Refresh: c.refresh}
	c.Server.Shells = &shell.Pool{Runner: host, Dir: filepath.Join(s.Record.Dir, "shells"), Log: s.Log, Limits: &c.Server.Limits}
	c.Server.Memory = func(argv int64) { debug.SetMemoryLimit(collectAbove + copies*argv) }
	c.Server.Jobs, err = job.Open(state.JobsDir(s.Record.Dir))
	return err
}

// Apply has later calls depend on dirs, on the configuration of now, and on what containers of other sessions can write.
func (c *Calls) Apply(name string, dirs *mount.Table) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	c.applyOthersLocked(dirs)
	sc := &call.SessionState{
		Session:   c.record.ID,
		Project:   filepath.Base(c.record.InvokedIn),
		Branch:    branch(c.record.InvokedIn),
		Container: name,
		Agent:     c.record.AgentName(),
		Policy:    c.configure(c.config.Load()),
		Audit:     c.audit.Named(name),
		Dirs:      dirs,
		Home:      c.Workdir(),
		PassEnv:   c.record.PassEnv,
		NewPrivs:  c.record.NewPrivs,
		Scratch:   filepath.Join(c.record.Dir, "scratch"),

		Recordings: c.record.Store.Recordings(),
		Elsewhere:  c.Containers.elsewhere(dirs),
		Confined:   confined(c.record, dirs),
		Inside:     c.Containers.findExact,
	}
	c.cleanEnvironLocked(sc)
	c.Server.SetState(sc)
	old := c.dirs
	c.dirs = dirs
	if old != nil {
		old.Close()
	}
}

// AddSupplied has commands run without what other containers of the service supply, from here on. It saves what they can write.
func (c *Calls) AddSupplied(fresh []mount.Point) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	old := c.Server.State()
	if len(fresh) == 0 || old == nil {
		return
	}
	sc := *old
	sc.Dirs.Also(fresh)
	c.cleanEnvironLocked(&sc)
	c.Server.SetState(&sc)
	c.record.Writable = sc.Dirs.Sources()
	if err := c.record.Save(); err != nil {
		c.log.Error("write down what the container can write", "error", err)
	}
}

// cleanEnvironLocked has calls of sc run without what containers supply.
func (c *Calls) cleanEnvironLocked(sc *call.SessionState) {
	env, found := executor.Environ(c.config.Environ, sc.Dirs)
	for _, f := range found {
		c.log.Warn("environment of commands", "finding", f.String())
	}
	path, _ := executor.Path(osenv.Get(c.config.Environ, "PATH"), sc.Dirs)
	_ = os.Setenv("PATH", path) // by which the engine's client finds ssh, again and again; it is a valid name
	sc.Environ = env
	sc.Find = func(name string) (string, bool) { return osenv.LookPath(name, path) }
}

// HostCode names the commands that run code of others, among those that the session has on this host, by its flags or by rules.
func (c *Calls) HostCode(dirs []string, why string) []string {
	sc := c.Server.State()
	if sc == nil || len(dirs) == 0 {
		return nil
	}
	here := slices.DeleteFunc(slices.Clone(c.record.Proxied()), func(c state.Command) bool { return sc.Policy.Place(c.Name).Image != "" })
	for _, name := range sc.Policy.Names() {
		known := slices.ContainsFunc(here, func(c state.Command) bool { return c.Name == name })
		if !known && sc.Policy.Place(name).Image == "" {
			here = append(here, state.Command{Name: name, Action: "rules"})
		}
	}
	return HostCode(sc.Policy, here, strings.Join(dirs, ", ")+", "+why, policy.GradeCertain, policy.GradePossible)
}

// Workdir is the working directory of the container, for callers that do not say theirs.
func (c *Calls) Workdir() string {
	if at := c.workdir.Load(); at != nil {
		return *at
	}
	return "/"
}

// SetWorkdir notes the working directory of the container.
func (c *Calls) SetWorkdir(at string) { c.workdir.Store(&at) }

// Dirs returns the directories of this host that callers know.
func (c *Calls) Dirs() *mount.Table { return c.dirs }

// Rename has the session go by name, which its container has now.
func (c *Calls) Rename(name string) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	if sc := c.Server.State(); sc != nil && sc.Container != name {
		renamed := *sc
		renamed.Container, renamed.Audit = name, c.audit.Named(name)
		c.Server.SetState(&renamed)
	}
	if c.record.ContainerName == name {
		return
	}
	c.log.Info("the container was renamed", "from", c.record.ContainerName, "to", name)
	c.record.ContainerName = name
	if err := c.record.Save(); err != nil {
		c.log.Error("rename", "error", err)
	}
}

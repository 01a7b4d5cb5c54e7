// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/job"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/shell"
	"github.com/docker-hostexec/hostexec/exec/verb"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Calls answers the session's calls. It holds what the answers depend on: the directories that callers share
// with this host, the policy, and the environment of commands.
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
	agents   string                 // content of agentsFile; record.mu guards it
	workdir  atomic.Pointer[string] // the container's working directory
}

// openCalls prepares s to answer calls. host runs the commands.
func (w *Watcher) openCalls(s *Session, host *executor.Host, log *audit.Log) (err error) {
	c := s.Calls
	c.audit = log
	c.Questions = newQuestions(s.Record, s.Config.Current().Notify, s.Others, c.notifierRunner(host), s.Log)
	c.Containers = newCallContainers(s.Record, w.Engine, w.ConnectTo, host, s.Log)
	c.Server = &call.Server{Version: w.Version, Verbs: verb.Verbs{}, Runner: host, Queue: c.Questions.queue, Log: s.Log, Environ: s.Config.Environ, Refresh: c.refresh}
	c.Server.Shells = &shell.Table{Runner: host, Dir: filepath.Join(s.Record.Dir, "shells"), Log: s.Log, Limits: &c.Server.Limits, Program: shellProgram(s.Record.Store.Home)}
	c.Server.Memory = s.memory.setRequests
	c.Server.Jobs, err = job.Open(state.JobsDir(s.Record.Dir))
	return err
}

// Apply sets what later calls depend on: dirs, the current configuration, and the files that containers of other
// sessions can write. name is that of the container; empty: there is none.
func (c *Calls) Apply(name string, dirs *mount.Table) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	rec := c.record.Session()
	sc := &call.SessionConfig{
		Session:   rec.ID,
		Project:   filepath.Base(rec.InvokedIn),
		Branch:    branch(rec.InvokedIn),
		Container: name,
		Agent:     rec.AgentName(),
		Policy:    c.configure(c.config.Load()),
		Audit:     c.audit.Named(name),
		Dirs:      dirs,
		Workdir:   c.Workdir(),
		PassEnv:   rec.PassEnv,
		NewPrivs:  rec.NewPrivs,
		Scratch:   filepath.Join(c.record.Dir, "scratch"),

		Recordings:    c.record.Store.Recordings(),
		InContainer:   c.Containers.inContainer(dirs),
		SandboxFor:    c.sandboxes(dirs).forCommand,
		FindContainer: c.Containers.findExact,
		Git:           c.gitRemotes(),
	}
	c.applyOthersLocked(sc)
	c.cleanEnvironLocked(sc)
	c.Server.SetConfig(sc)
	c.writeAgentsLocked()
	old := c.dirs
	c.dirs = dirs
	if old != nil {
		old.Close()
	}
}

// sandboxes returns the sandboxes for callers that have dirs.
func (c *Calls) sandboxes(dirs *mount.Table) *sandboxes {
	maxCache := func() int64 { return c.Server.Limits.Limit(limit.Spool).Max }
	return &sandboxes{
		rec: c.record, dirs: dirs, maxCache: maxCache, program: shellProgram(c.record.Store.Home),
		written: func() []string { return c.Server.Config().SandboxWrites() }, checkWrites: c.checkSandboxWrites,
	}
}

// AddWritable adds fresh to the paths that containers of the session can write, also in the record. It removes from the
// environment of later calls the directories of PATH in these paths, and the variables that name files there.
func (c *Calls) AddWritable(fresh []mount.Point) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	old := c.Server.Config()
	if len(fresh) == 0 || old == nil {
		return
	}
	sc := *old
	sc.Dirs.AddWritable(fresh)
	c.cleanEnvironLocked(&sc)
	c.Server.SetConfig(&sc)
	c.record.changeLocked(func(rec *state.Session) { rec.Writable = sc.Dirs.WritableSources() })
	if err := c.record.saveLocked(); err != nil {
		c.log.Error("write down what the container can write", "error", err)
	}
}

// cleanEnvironLocked removes the parts of the environment of sc that name files which containers can write.
func (c *Calls) cleanEnvironLocked(sc *call.SessionConfig) {
	env, found := hostcode.Environ(c.config.Environ, sc.Dirs)
	for _, f := range found {
		c.log.Warn("left out of the environment of commands", "finding", f.String())
	}
	path, _ := hostcode.Path(osenv.Get(c.config.Environ, "PATH"), sc.Dirs)
	_ = os.Setenv("PATH", path) // the engine's client looks up ssh for each connection; the name is valid
	sc.Environ = env
	sc.Find = func(name string) (string, bool) { return osenv.LookPath(name, path) }
}

// HostCode returns sentences about the commands that run on this host, and run code from dirs. why says who can write
// dirs.
func (c *Calls) HostCode(dirs []string, why string) []string {
	sc := c.Server.Config()
	if sc == nil || len(dirs) == 0 {
		return nil
	}
	here := slices.DeleteFunc(slices.Clone(c.record.Session().Proxied()), func(c state.Command) bool { return sc.Policy.Place(c.Name).Image != "" })
	for _, name := range sc.Policy.Names() {
		if state.FindCommand(here, name) == nil && sc.Policy.Place(name).Image == "" {
			here = append(here, state.Command{Name: name, Action: "rules"})
		}
	}
	return HostCode(sc.Policy, here, strings.Join(dirs, ", ")+", "+why, policy.GradeCertain, policy.GradePossible)
}

// Workdir returns the working directory of the container, for callers that do not send theirs.
func (c *Calls) Workdir() string {
	if at := c.workdir.Load(); at != nil {
		return *at
	}
	return "/"
}

// SetWorkdir sets the working directory of the container.
func (c *Calls) SetWorkdir(at string) { c.workdir.Store(&at) }

// Dirs returns the directories of this host that callers can name.
func (c *Calls) Dirs() *mount.Table { return c.dirs }

// Rename changes the session's name to the new name of its container.
func (c *Calls) Rename(name string) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	if sc := c.Server.Config(); sc != nil && sc.Container != name {
		renamed := *sc
		renamed.Container, renamed.Audit = name, c.audit.Named(name)
		c.Server.SetConfig(&renamed)
	}
	old := c.record.Session().ContainerName
	if old == name {
		return
	}
	c.log.Info("the container was renamed", "from", old, "to", name)
	c.record.changeLocked(func(rec *state.Session) { rec.ContainerName = name })
	if err := c.record.saveLocked(); err != nil {
		c.log.Error("record the new name of the container", "error", err)
	}
}

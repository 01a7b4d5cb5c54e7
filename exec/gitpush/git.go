// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// noFiles means that git inherits no descriptor.
var noFiles = [3]int{-1, -1, -1}

// safeSettings are for each git: no hooks, no background work, and no other repositories.
var safeSettings = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand=", "-c", "gc.auto=0",
	"-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false",
	"-c", "push.recurseSubmodules=no", "-c", "push.followTags=false", "-c", "protocol.allow=never",
}

// userVariables are the variables that configure how the user's git reaches remotes. No other variable of git is passed
// on.
var userVariables = []string{"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}

// networkEnv is the environment of a git that reaches the remote as the user's own git does.
func (c *Call) networkEnv(gitDir string) []string {
	env := slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(userVariables, name) && !strings.HasPrefix(name, "GIT_SSL_")
	})
	return append(env, "GIT_DIR="+gitDir, "GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
}

// maxAlloc is the maximum size of what git allocates at once for an object of the container.
const maxAlloc = "256m"

// confinedEnv is the environment of a git that reads the container's objects. This git has only the mirror's
// configuration.
func (c *Call) confinedEnv(gitDir, quarantine string) []string {
	env := []string{
		"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent", "GIT_DIR=" + gitDir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_ALLOC_LIMIT=" + maxAlloc,
	}
	return append(env, quarantineEnv(gitDir, quarantine)...)
}

// quarantineEnv makes git write objects into the quarantine, and read objects of the mirror, too.
func quarantineEnv(gitDir, quarantine string) []string {
	if quarantine == "" {
		return nil
	}
	return []string{"GIT_OBJECT_DIRECTORY=" + quarantine, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(gitDir, "objects")}
}

// protocols permits the protocol of the remote's URL, and those that the user's url.insteadOf may make of it.
func protocols(remoteURL string) []string {
	args := []string{"-c", "protocol.https.allow=always", "-c", "protocol.ssh.allow=always"}
	if p, _ := checkURL(remoteURL); p != "" && p != "https" && p != "ssh" {
		args = append(args, "-c", "protocol."+p+".allow=always")
	}
	return args
}

// network runs git with the credentials of the host. If git does not start, the status has the code exitFatal. gitDir
// is the mirror, or empty.
func (c *Call) network(ctx context.Context, gitDir, quarantine string, out, stderr io.Writer, args ...string) (executor.Status, error) {
	env := append(c.networkEnv(gitDir), quarantineEnv(gitDir, quarantine)...)
	started := false
	st, err := c.git(ctx, executor.Command{Env: env, Args: slices.Concat(safeSettings, protocols(c.Remote.URL), args)}, gitDir,
		executor.Streams{FD: noFiles, Out: out, Err: stderr, Started: func(int) { started = true }})
	if err != nil && !started {
		st.Code = exitFatal
	}
	return st, err
}

// The limits of each git that reads objects of the container. A small pack can stand for objects of any size and
// number.
const (
	maxData       = 2 << 30 // bytes of memory, without mapped files
	defaultMaxCPU = 5 * time.Minute
)

// smallSettings are for a git that reads objects of the container. Larger files are neither loaded nor compared.
var smallSettings = []string{"-c", "core.bigFileThreshold=8m", "-c", "pack.threads=1"}

// errCostly means that a git that reads objects of the container has reached a limit.
var errCostly = errors.New("hostexec: these objects need too much memory or time: push them in parts")

// confined runs git on data of the container. It reads the mirror and writes the quarantine. In a sandbox, it can do
// nothing else.
func (s *service) confined(ctx context.Context, quarantine string, streams executor.Streams, args ...string) (executor.Status, error) {
	c := executor.Command{Env: s.confinedEnv(s.mirror.dir, quarantine), Args: slices.Concat(safeSettings, args)}
	if quarantine != "" {
		c.Args = slices.Concat(safeSettings, smallSettings, args)
		within, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		ctx, streams.Started = within, func(pid int) { // before git reads its input
			if err := setLimits(pid, cmp.Or(s.maxCPU, defaultMaxCPU)); err != nil {
				cancel(fmt.Errorf("limit git: %w", err))
			}
		}
	}
	if sandbox.Supported() == nil && s.systemGit() {
		spec := sandbox.Spec{Paths: append(slices.Clone(sandbox.System), sandbox.Path{Name: s.mirror.dir, Access: sandbox.Read})}
		if quarantine != "" {
			spec.Paths = append(spec.Paths, sandbox.Path{Name: quarantine, Access: sandbox.Write})
		}
		box, err := sandbox.Prepare(spec)
		if err != nil {
			return executor.Status{}, err
		}
		defer box.Close()
		c.Sandbox = box
	}
	return s.git(ctx, c, s.mirror.dir, streams)
}

// systemGit reports whether git is one of the programs of the system, which a sandbox can read.
func (c *Call) systemGit() bool {
	at, err := filepath.EvalSymlinks(c.Git)
	return err == nil && slices.ContainsFunc(sandbox.System, func(p sandbox.Path) bool {
		return p.Access == sandbox.Execute && names.Within(at, p.Name)
	})
}

func (c *Call) git(ctx context.Context, cmd executor.Command, at string, s executor.Streams) (executor.Status, error) {
	d, err := dir.Open(at)
	if err != nil {
		return executor.Status{}, err
	}
	defer d.Close()
	cmd.ID, cmd.Path, cmd.Dir, cmd.Args = c.ID, c.Git, d.FD(), append([]string{"git"}, cmd.Args...)
	if s.Started == nil {
		s.Started = func(int) {}
	}
	return c.Run(ctx, cmd, s)
}

// defaultMaxOutput is the maximum output of git, in bytes.
const defaultMaxOutput = 32 << 20

// errOutput means that the output of a git exceeds its limit.
var errOutput = errors.New("the output of git is too large")

// read returns the output of a confined git. Its error has git's stderr, or is errOutput.
func (s *service) read(ctx context.Context, quarantine string, in string, args ...string) (string, error) {
	out, stderr := limit.Buffer{Max: cmp.Or(s.maxOutput, defaultMaxOutput)}, newGitStderr()
	streams := executor.Streams{FD: noFiles, Out: &out, Err: stderr}
	if in != "" {
		streams.In = io.NopCloser(strings.NewReader(in))
	}
	st, err := s.confined(ctx, quarantine, streams, args...)
	if out.Exceeded { // git ends by SIGPIPE then, or has ended before
		return "", errOutput
	}
	return out.String(), stderr.failure(st, err)
}

// maxStderr is the number of bytes of git's stderr that are kept.
const maxStderr = 2 << 10

// gitStderr keeps the beginning of git's stderr.
type gitStderr struct{ limit.Prefix }

func newGitStderr() *gitStderr { return &gitStderr{limit.Prefix{Max: maxStderr}} }

// failure returns why git failed, or nil.
func (b *gitStderr) failure(st executor.Status, err error) error {
	switch {
	case err != nil || st.Code == 0:
		return err
	case st.Signal == "XCPU" || st.Signal == "KILL" || bytes.Contains(b.Text, []byte("ut of memory")) || bytes.Contains(b.Text, []byte("attempting to allocate")):
		return errCostly
	}
	for line := range strings.Lines(string(b.Text)) {
		for _, kind := range []string{"fatal: ", "error: "} {
			if reason, ok := strings.CutPrefix(strings.TrimSpace(line), kind); ok {
				return errors.New(reason)
			}
		}
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(string(b.Text)), "\n"); first != "" {
		return errors.New(first)
	}
	return fmt.Errorf("git exits with %d", st.Code)
}

// removeAll removes a directory that this package has created. It ignores errors.
func removeAll(path string) { _ = os.RemoveAll(path) }

// incoming is the prefix of a quarantine's name. The process id of its watcher follows.
const incoming = "incoming-"

// newQuarantine creates a directory for objects of the container. It removes the quarantines of watchers that were
// killed.
func newQuarantine(at string) (string, error) {
	if err := removeQuarantines(at); err != nil {
		return "", err
	}
	return os.MkdirTemp(at, incoming+strconv.Itoa(os.Getpid())+"-")
}

// removeQuarantines removes the quarantines of watchers that were killed.
func removeQuarantines(at string) error {
	left, err := filepath.Glob(filepath.Join(at, incoming+"*"))
	for _, path := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), incoming), "-")
		if n, err := strconv.Atoi(pid); err == nil && !processExists(n) {
			removeAll(path)
		}
	}
	return err
}

func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

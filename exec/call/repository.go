// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/git"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// decideInRepository has the policy decide, with the facts about the repository in dc.cwd. A .git that the
// container cannot write now may have been written before, and git enters submodules. If the command would
// run, and the repository counts as the host's, git itself is asked what the repository names and where it
// leads.
func (dc *decidedCall) decideInRepository(ctx context.Context, req *request) {
	sc, name := dc.config, req.Args[0]
	gitDir := sc.Policy.Rules[name].GitDir
	req.GitDirReadOnly = dc.cwd != nil && gitDir == policy.GitMount && sc.Dirs.ReadOnly(dc.cwd, req.Cwd, ".git")
	dc.decide(sc.Policy, req)
	if dc.cwd != nil && gitDir == policy.GitMount && !req.GitDirReadOnly && dc.v.Action == policy.Ask {
		safe := req.Request
		safe.GitDirReadOnly = true
		if sc.Policy.Decide(safe).Action == policy.Allow {
			dc.askProblem = repositoryProblem(dc.cwd, req.Cwd, sc.others)
		}
	}
	trusted := req.GitDirReadOnly || dc.cwd != nil && gitDir == policy.GitHost
	if !trusted || dc.v.Action == policy.Deny || dc.v.Place.InContainer() || req.shell != nil {
		return
	}
	v := dc.v
	if sc.findProgram(&v) != nil || !isGit(name) && !isGit(filepath.Base(v.Command.Path)) {
		return // decide reports a missing program; one that is not git reads no repository
	}
	err := dc.inTurn(ctx, req, &v)
	if err == nil {
		return
	}
	req.GitDirReadOnly = false
	dc.decide(withoutTrust(sc.Policy, name), req)
	found := git.Problem{Reason: names.Plain(err.Error())}
	dc.notes = append(dc.notes, found.Reason)
	if v.Action != policy.Allow {
		return // a person is asked anyway
	}
	var p *git.Problem
	if errors.As(err, &p) && p.Fix != "" {
		found.Fix = names.Plain(p.Fix)
		dc.notes = append(dc.notes, "to have it run without a question: "+found.Fix)
	}
	dc.askProblem = &found
}

// decide has p decide the request.
func (dc *decidedCall) decide(p *policy.Policy, req *request) {
	dc.v = p.Decide(req.Request)
	decided := dc.v
	dc.decided = &decided
}

// inTurn checks the repository that v is about to read. If v may run, it keeps its turn until the command
// has ended, so that the repository stays as it was checked.
func (dc *decidedCall) inTurn(ctx context.Context, req *request, v *policy.Verdict) (err error) {
	if v.Action != policy.Allow {
		return dc.repository(ctx, req, v)
	}
	if dc.turn, err = dc.server.turns.take(ctx, overlap(dc.config.Policy, req.Args[0], v)); err != nil {
		return err
	}
	if err = dc.repository(ctx, req, v); err != nil {
		dc.turn()
		dc.turn = nil
	}
	return err
}

// repositoryProblem says why the container, or one of another session, could write the repository of d, which
// the container calls cwd. others is what containers of other sessions can write, or nil.
func repositoryProblem(d *dir.Dir, cwd string, others *mount.Table) *git.Problem {
	at := names.Plain(path.Join(cwd, ".git"))
	fi, err := os.Lstat(fmt.Sprintf("/proc/self/fd/%d/.git", d.FD()))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &git.Problem{Reason: "there is no " + at, Fix: "run git in the directory that has .git"}
	case err == nil && !fi.IsDir():
		return &git.Problem{Reason: at + " is no directory, but leads to a repository elsewhere, as in a worktree or a submodule", Fix: "run git in the main work tree"}
	}
	if others != nil && others.Writable(path.Join(d.Path(), ".git")) {
		return &git.Problem{Reason: "the container of another session can write " + at, Fix: "mount it read-only there, too"}
	}
	return &git.Problem{Reason: "the container can write " + at, Fix: "mount it read-only (-v DIR/.git:DIR/.git:ro)"}
}

func isGit(name string) bool { return strings.TrimRight(name, "0123456789.-") == "git" }

// withoutTrust returns p without trust in the repository of the command name.
func withoutTrust(p *policy.Policy, name string) *policy.Policy {
	q := *p
	q.Rules = maps.Clone(p.Rules)
	set := q.Rules[name]
	set.GitDir = ""
	q.Rules[name] = set
	return &q
}

// repository checks the repository that v is about to read.
func (dc *decidedCall) repository(ctx context.Context, req *request, v *policy.Verdict) error {
	check := dc.gitCheck(req, v)
	return check.Do(ctx)
}

// remotes returns notes about the remote that git will contact. Nobody has allowed the call yet, so a session has one
// git at a time for it, in the sandbox of the call.
func (dc *decidedCall) remotes(ctx context.Context, req *request) []string {
	release, err := dc.server.lookups.take(ctx, git.Changes)
	if err != nil {
		return []string{"its remote is not known: " + names.Plain(err.Error())}
	}
	defer release()
	check := dc.gitCheck(req, &dc.v)
	return check.Remotes(ctx)
}

// gitCheck returns the check of the repository that v is about to read.
func (dc *decidedCall) gitCheck(req *request, v *policy.Verdict) git.Check {
	env := environ(dc.config.hostEnviron, req.env, dc.config.PassEnv, v.Env, dc.cwd.Path())
	return git.Check{
		Dir: dc.cwd, Cwd: req.Cwd, Mounts: dc.config.Dirs, Args: v.Args, Env: env, Host: dc.config.Policy.Rules[req.Args[0]].GitDir == policy.GitHost,
		Run: func(ctx context.Context, d *dir.Dir, args []string, out io.Writer) error {
			return dc.runInternal(ctx, executor.Command{ID: newID(), Path: v.Command.Path, Args: args, Env: env, Dir: d.FD(), Sandbox: dc.sandbox}, out)
		},
	}
}

// maxGitStderr is the number of bytes of git's stderr that are shown.
const maxGitStderr = 200

// runInternal runs a command for hostexec itself, with /dev/null as stdin.
func (dc *decidedCall) runInternal(ctx context.Context, c executor.Command, out io.Writer) error {
	stderr := limit.Prefix{Max: maxGitStderr}
	st, err := dc.server.Runner.Run(ctx, c, executor.Streams{FD: [3]int{-1, -1, -1}, Out: out, Err: &stderr})
	switch text, _, _ := strings.Cut(string(stderr.Text), "\n"); {
	case err != nil:
		return err
	case st.Code != 0 && text != "":
		return errors.New(text)
	case st.Code != 0:
		return fmt.Errorf("exit status %d", st.Code)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

// Package git detects whether a git command may run a program that the repository names, or use other files of the
// host.
//
//	.git (read-only for the container) --its files, git config--> Check --> nil or a Problem
//	submodules --git ls-files------------------------------------^
//
// A repository is harmless only if everything that can name a program is known to be absent.
// Configuration keys are checked against a list of harmless keys, so an unknown key is a Problem.
// The package runs the same git as the command, with subcommands that start no programs. The result
// is input for the policy.
package git

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/mount"
)

// Limits of one check. A repository that exceeds one of them is a Problem.
const (
	maxConfig     = 1 << 20 // bytes of configuration
	maxPaths      = 4 << 10 // bytes of a file that names a repository's directories
	maxEntries    = 1000    // of .git, or of its hooks
	maxNames      = 50_000  // of references, their logs and the like, and as many of objects
	maxSubmodules = 32
	maxTime       = 10 * time.Second
)

// Problem is a reason why a git command may run code that a container has written, or show or write other files of the
// host.
type Problem struct {
	Reason string
	Fix    string // what to type or to change, or empty
}

func (p *Problem) Error() string { return p.Reason }

// Check checks the repository of one git command.
type Check struct {
	Dir    *dir.Dir
	Cwd    string // the path of Dir in the container
	Mounts *mount.Table
	Args   []string // of the command, with argv[0]
	Host   bool     // the host names the repository, instead of Dir; it is trusted
	Env    []string // of the command
	// Run runs git in d with args and Env, and writes git's stdout to out. A write error of out
	// ends git.
	Run func(ctx context.Context, d *dir.Dir, args []string, out io.Writer) error
}

// Do returns nil only if the command runs no program that the repository names, and uses no files of the host outside
// of the repository. Do also checks the submodules into which the command descends. Every error is a *Problem. Unless
// Host is set, the caller guarantees that the container can neither write nor replace the entry .git of Dir. Remotes
// needs no such guarantee.
func (c *Check) Do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	line, ok := parse(c.Args, c.Host)
	if !ok {
		return &Problem{Reason: "git has options before its command that hostexec does not know"}
	}
	if c.Host {
		return c.checkHost(ctx, line)
	}
	if line.verb == "rebase" || line.verb == "bisect" {
		return &Problem{Reason: "git " + line.verb + " runs commands that the repository may hold from before"}
	}
	if err := c.checkUserConfig(); err != nil {
		return err
	}
	cfg, err := c.repository(ctx, line, c.Dir, c.Cwd)
	if err != nil {
		return err
	}
	return c.submodules(ctx, line, cfg, c.Dir, c.Cwd, &budget{left: maxSubmodules})
}

// repository checks the repository of the work tree d, and returns its configuration. The
// repository of a submodule may be inside the parent's .git directory.
func (c *Check) repository(ctx context.Context, line commandLine, d *dir.Dir, cwd string) (*config, error) {
	at, err := c.locate(d, cwd)
	if err != nil {
		return nil, err
	}
	if err := c.gitDirEntries(at); err != nil { // before the first git command, because git would block on a FIFO
		return nil, err
	}
	list, err := c.ask(ctx, line, d, maxConfig, append([]string{"--git-dir=" + at.name}, configList...)...)
	if err != nil {
		return nil, &Problem{Reason: fmt.Sprintf("git cannot list the configuration of %s: %v", cwd, err)}
	}
	cfg, err := parseConfig(list)
	if err != nil {
		return nil, errUnknownList(cwd, err)
	}
	// Without this entry, git does not accept the directory as a repository, and searches for
	// another one.
	if !slices.ContainsFunc(cfg.entries, func(e entry) bool { return e.scope == "local" && e.file(at) == path.Join(at.dir, "config") }) {
		return nil, &Problem{Reason: at.dir + " is no repository that git reads"}
	}
	if err := c.files(at, line, cfg); err != nil {
		return nil, err
	}
	return cfg, c.checkConfig(at, line, cfg)
}

// repository is the location of a repository on the host.
type repository struct {
	name     string // its directory, as git finds it in the work tree
	dir      string // its absolute directory
	fdPath   string // its directory as a path below an open descriptor
	workTree string // its absolute work tree
	cwd      string // the path of the work tree in the container
}

// locate returns the repository that git finds first in d.
func (c *Check) locate(d *dir.Dir, cwd string) (repository, error) {
	at := repository{name: ".git", dir: path.Join(d.Path(), ".git"), workTree: d.Path(), cwd: cwd}
	at.fdPath = fmt.Sprintf("/proc/self/fd/%d/.git", d.FD())
	if d == c.Dir {
		return at, nil
	}
	f, err := dir.OpenPlain(at.fdPath)
	if err != nil {
		return at, at.checkNoLinks() // not a file
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPaths))
	name, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if err != nil || !ok || name == "" {
		return at, &Problem{Reason: at.dir + " is no file that git reads"}
	}
	at.name, at.dir = name, path.Clean(name)
	if !path.IsAbs(name) {
		at.dir = path.Join(d.Path(), name)
	}
	rest, ok := strings.CutPrefix(at.dir, path.Join(c.Dir.Path(), ".git", "modules")+"/")
	if !ok {
		return at, &Problem{Reason: fmt.Sprintf("the repository of %s is %s", cwd, at.dir)}
	}
	at.fdPath = fmt.Sprintf("/proc/self/fd/%d/.git/modules/%s", c.Dir.FD(), rest)
	return at, at.checkNoLinks()
}

// checkNoLinks checks that the path of the repository contains no symbolic link. A link could lead to a
// directory that the container can write.
func (at repository) checkNoLinks() error {
	if real, err := filepath.EvalSymlinks(at.fdPath); err != nil || real != at.dir {
		return &Problem{Reason: fmt.Sprintf("a link is on the way to %s", at.dir), Fix: "put the directory in its place"}
	}
	return nil
}

// ask runs git in d with the options before line's verb. It returns at most max bytes of git's
// stdout.
func (c *Check) ask(ctx context.Context, line commandLine, d *dir.Dir, max int, args ...string) ([]byte, error) {
	out := &limit.Buffer{Max: max}
	err := c.Run(ctx, d, line.with(args...), out)
	if out.Exceeded {
		err = fmt.Errorf("it prints more than %d bytes", max)
	}
	return out.Bytes(), err
}

// SPDX-License-Identifier: Apache-2.0

// Package git finds out whether a git command may run a program that the repository names.
//
//	.git (read-only for the container) --its files, git config--> Check --> nil or a Problem
//	submodules --git ls-files------------------------------------^
//
// Its one law: a repository is harmless only where everything that names a program is known
// to be absent. Configuration keys are judged by a list of harmless ones, so an unknown key
// is a Problem. The package asks the same git that the command runs, with commands that run
// nothing themselves. It decides nothing: the policy does, with the answer.
package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/dir"
)

// Limits of one check. A repository that exceeds one of them is a Problem.
const (
	maxConfig     = 1 << 20 // bytes of configuration
	maxPaths      = 4 << 10 // bytes that name a repository's directories
	maxEntries    = 1000    // of .git, or of its hooks
	maxNames      = 50_000  // of references and their logs, before git writes some
	maxSubmodules = 32
	maxTime       = 10 * time.Second
)

// Problem is why a git command may run code that a container has written.
type Problem struct {
	Reason string
	Fix    string // what to type or to change, or empty
}

func (p *Problem) Error() string { return p.Reason }

// Check is one look at the repository of a git command. The caller has made sure that the
// container can neither write nor replace the entry .git of Dir, unless Host is true.
type Check struct {
	Dir    *dir.Dir
	Cwd    string // what the container calls Dir
	Mounts *dir.Table
	Args   []string // of the command, with argv[0]
	Host   bool     // the repository is one that the host names, not Dir's, and is trusted
	Env    []string // of the command
	// Run runs git with args in d, and with Env. It writes what git prints to out. An error of
	// out ends git.
	Run func(ctx context.Context, d *dir.Dir, args []string, out io.Writer) error
}

// Do returns nil if the command runs no program that the repository, or a repository into
// which git descends, names. Any other error is a *Problem.
func (c *Check) Do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	line, ok := parse(c.Args, c.Host)
	if !ok {
		return &Problem{Reason: "git has options before its command that hostexec does not know"}
	}
	if c.Host {
		return c.host(ctx, line)
	}
	if line.verb == "rebase" || line.verb == "bisect" {
		return &Problem{Reason: "git " + line.verb + " runs commands that the repository may hold from before"}
	}
	if err := c.person(); err != nil {
		return err
	}
	cfg, err := c.repository(ctx, line, c.Dir, c.Cwd)
	if err != nil {
		return err
	}
	return c.submodules(ctx, line, cfg, c.Dir, c.Cwd, &budget{left: maxSubmodules})
}

// repository checks the repository whose work tree is d, and returns its configuration. That
// of a submodule may lie in the directory of the one above.
func (c *Check) repository(ctx context.Context, line commandLine, d *dir.Dir, cwd string) (*config, error) {
	at, err := c.locate(d, cwd)
	if err != nil {
		return nil, err
	}
	if err := c.prepared(at); err != nil { // a pipe would keep git waiting
		return nil, err
	}
	list, err := c.ask(ctx, line, d, maxConfig, append([]string{"--git-dir=" + at.name}, configList...)...)
	if err != nil {
		return nil, &Problem{Reason: fmt.Sprintf("git cannot tell the configuration of %s: %v", cwd, err)}
	}
	cfg, err := parseConfig(list)
	if err != nil {
		return nil, errUnknownList(cwd, err)
	}
	// Otherwise git does not take the directory for a repository, and looks for another one.
	if !slices.ContainsFunc(cfg.entries, func(e entry) bool { return e.scope == "local" && e.file(at) == path.Join(at.dir, "config") }) {
		return nil, &Problem{Reason: at.dir + " is no repository that git reads"}
	}
	if err := c.files(at, line, cfg); err != nil {
		return nil, err
	}
	return cfg, c.judge(at, line, cfg)
}

// place is where a repository is.
type place struct {
	name string // its directory, as git finds it in the work tree
	dir  string // the same, absolute
	held string // the same below a directory that is held, to open it by
	top  string // its work tree, absolute
	cwd  string // what the container calls the work tree
}

// locate returns the repository that git finds first in d.
func (c *Check) locate(d *dir.Dir, cwd string) (place, error) {
	at := place{name: ".git", dir: path.Join(d.Path(), ".git"), top: d.Path(), cwd: cwd}
	at.held = fmt.Sprintf("/proc/self/fd/%d/.git", d.FD())
	if d == c.Dir {
		return at, nil
	}
	f, err := dir.OpenPlain(at.held)
	if err != nil {
		return at, at.direct() // no file
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
	at.held = fmt.Sprintf("/proc/self/fd/%d/.git/modules/%s", c.Dir.FD(), rest)
	return at, at.direct()
}

// direct checks that no link is on the way to the repository: it could lead to where the
// container writes.
func (at place) direct() error {
	if real, err := filepath.EvalSymlinks(at.held); err != nil || real != at.dir {
		return &Problem{Reason: fmt.Sprintf("a link is on the way to %s", at.dir), Fix: "put the directory in its place"}
	}
	return nil
}

// ask runs git in d, with the options that line has before its verb, and returns at most max
// bytes of what it prints.
func (c *Check) ask(ctx context.Context, line commandLine, d *dir.Dir, max int, args ...string) ([]byte, error) {
	out := &capped{max: max}
	err := c.Run(ctx, d, line.with(args...), out)
	if out.over {
		err = fmt.Errorf("it prints more than %d bytes", max)
	}
	return out.b.Bytes(), err
}

// capped keeps what is written, up to max bytes.
type capped struct {
	b    bytes.Buffer
	max  int
	over bool
}

func (w *capped) Write(p []byte) (int, error) {
	if w.b.Len()+len(p) > w.max {
		w.over = true
		return 0, io.ErrShortWrite
	}
	return w.b.Write(p)
}

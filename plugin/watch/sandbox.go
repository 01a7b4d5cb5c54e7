// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// plainVariables are the variables of the host that every sandboxed command gets. Other variables may contain tokens,
// or name sockets.
var plainVariables = []string{
	"PATH", "USER", "LOGNAME", "SHELL", "TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_COLLATE",
	"LC_NUMERIC", "LC_TIME", "LC_MONETARY",
}

// sandboxes makes the sandboxes for commands of a session.
type sandboxes struct {
	rec      *Record
	dirs     *mount.Table           // directories that the container has
	maxCache func() int64           // size of the largest cache that is copied
	program  func() (string, error) // path of the program of shells
	written  func() []string        // paths that sandboxes of any command may write
	// checkWrites refuses paths that a command may write, if a file there decides which code runs on this host.
	checkWrites func(paths []string) error
}

// forCommand returns a sandbox for the command of v, and the command's environment.
func (s *sandboxes) forCommand(ctx context.Context, v *policy.Verdict, environ []string, report func(string)) (*sandbox.Sandbox, []string, error) {
	if err := sandbox.Supported(); err != nil {
		return nil, nil, fmt.Errorf("%w: where=container:IMAGE works on every system", err)
	}
	opened, err := directories(s.dirs, v.Sandbox.ReadOnly)
	if err != nil {
		return nil, nil, err
	}
	defer mount.CloseAll(opened)
	home := osenv.Get(environ, "HOME")
	paths, err := s.namedPaths(v)
	if err != nil {
		return nil, nil, err
	}
	paths = append(paths, workdir(s.dirs, s.rec.Store.Home, home)...)
	all := slices.Concat(sandbox.System, resolved(paths), shared(opened))
	if err := checkProgram(v, home, all); err != nil {
		return nil, nil, err
	}
	private, err := s.privateDirs(ctx, v, home, report)
	if err != nil {
		return nil, nil, err
	}
	access := access(v.Sandbox.ReadOnly)
	paths = append(paths, sandbox.Path{Name: private.Home, Access: access}, sandbox.Path{Name: private.Tmp, Access: access})
	if v.Sandbox.Copies != "" {
		paths = append(paths, sandbox.Path{Name: v.Sandbox.Copies, Access: sandbox.Execute})
	}
	if v.Args[0] == policy.Shell {
		at, err := s.program()
		if err != nil {
			return nil, nil, err
		}
		paths = append(paths, sandbox.Path{Name: at, Access: sandbox.Execute})
	}
	made, err := prepare(opened, paths, v.Sandbox.Net)
	return made, sandboxEnviron(environ, private, v, all), err
}

// privateDirs returns the sandbox's own directories, with links and caches in its home.
func (s *sandboxes) privateDirs(ctx context.Context, v *policy.Verdict, home string, report func(string)) (private state.SandboxDirs, err error) {
	if private, err = s.rec.Store.SandboxDirs(s.rec.Session().Workspace, s.dirs.WritableSources()); err != nil {
		return private, err
	}
	if v.Args[0] == policy.Shell { // its scripts are there: other commands must not be able to change them
		private.Tmp = state.ShellsTmp(s.rec.Dir)
		if err := os.MkdirAll(private.Tmp, 0o700); err != nil {
			return private, fmt.Errorf("make a directory for the sandbox: %w", err)
		}
	}
	unlock, err := private.Lock(ctx)
	if err != nil {
		return private, err
	}
	defer unlock()
	return private, linkHome(private.Home, home, v.Sandbox, &cacheCopy{maxSize: s.maxCache(), report: report})
}

// directories opens the container's directories of the host, all of them read-only if readOnly is set.
func directories(dirs *mount.Table, readOnly bool) ([]mount.OpenSource, error) {
	opened, err := dirs.OpenSources(!readOnly)
	for i := range opened {
		opened[i].ReadOnly = opened[i].ReadOnly || readOnly
	}
	return opened, err
}

// shellProgram returns a function that returns the path of the program of shells in a sandbox. Only this user can write
// the program, and no sandbox can.
func shellProgram(stateDir string) func() (string, error) {
	return func() (string, error) { // not once: prune of another build removes the program
		f, err := inject.ShellProgram(stateDir, runtime.GOARCH)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return f.Name(), nil
	}
}

// workdir returns the directory in which commands of callers without a mount run, unless it contains one of private.
func workdir(dirs *mount.Table, private ...string) []sandbox.Path {
	at := dirs.Default().Source
	if at == "" || slices.ContainsFunc(private, func(p string) bool { return names.Within(mount.Resolved(p), mount.Resolved(at)) }) {
		return nil
	}
	return []sandbox.Path{{Name: at, Access: sandbox.Execute}}
}

// shared returns the paths of the container's directories on the host.
func shared(opened []mount.OpenSource) (list []sandbox.Path) {
	for _, o := range opened {
		list = append(list, sandbox.Path{Name: o.Path(), Access: access(o.ReadOnly)})
	}
	return list
}

func access(readOnly bool) sandbox.Access {
	if readOnly {
		return sandbox.Execute
	}
	return sandbox.Write
}

// prepare builds the sandbox of a command that has the container's directories and paths.
func prepare(opened []mount.OpenSource, paths []sandbox.Path, net policy.Net) (*sandbox.Sandbox, error) {
	spec := sandbox.Spec{Paths: slices.Concat(sandbox.System, paths), Net: sandbox.Net(net)}
	for _, o := range opened {
		spec.Files = append(spec.Files, sandbox.File{FD: o.FD(), Access: access(o.ReadOnly)})
	}
	if self, err := os.Executable(); err == nil { // the monitor of a terminal
		spec.Paths = append(spec.Paths, sandbox.Path{Name: self, Access: sandbox.Execute})
	}
	return sandbox.Prepare(spec)
}

// namedPaths returns the paths that the configuration opens to the command of v.
func (s *sandboxes) namedPaths(v *policy.Verdict) (list []sandbox.Path, err error) {
	written := slices.DeleteFunc(s.written(), func(name string) bool { return checkNamed(name, s.dirs, s.rec.Store.Home) != nil })
	for _, group := range []struct {
		names  []string
		access sandbox.Access
	}{{v.Sandbox.Write, sandbox.Write}, {v.Sandbox.Read, sandbox.Execute}, {v.Sandbox.Creds, sandbox.Read}, {v.Sandbox.Cache, 0}} {
		for _, name := range group.names {
			err := checkNamed(name, s.dirs, s.rec.Store.Home)
			if err == nil {
				err = checkOutside(name, written)
			}
			if err != nil {
				return nil, err
			}
			if group.access != 0 { // a cache is copied
				list = append(list, sandbox.Path{Name: name, Access: group.access})
			}
		}
	}
	return list, s.checkWrites(v.Sandbox.Write)
}

// checkSandboxWrites refuses paths that a sandbox may write if they lead to a file that decides which code runs on this
// host. Code of such a file counts, too. Programs of --proxy are refused themselves, when they are called.
func (c *Calls) checkSandboxWrites(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	const format = "code in the sandbox could change %s, which %s: name other paths in write"
	table := mount.WritableTable(paths)
	for _, f := range decidingFiles(c.record, c.config, c.Questions.Notifier) {
		if at, ok := hostcode.WritableDependency(f.Path, os.Getenv("PATH"), table); ok && f.OnMount == RefuseWritable {
			return fmt.Errorf(format, strconv.QuoteToASCII(at), f.Does)
		}
	}
	if at, ok := WritableNotifier(c.Questions.Notifier, table); ok {
		return fmt.Errorf(format, strconv.QuoteToASCII(at), "notify.command names")
	}
	return nil
}

// checkOutside refuses a path that is below another one of written. There, code in a sandbox could replace it by a link
// to any file of the host, which the next sandbox would open.
func checkOutside(name string, written []string) error {
	if at, ok := mount.Replaceable(name, written); ok {
		return fmt.Errorf("code in a sandbox can replace %s, because it is below %s of write: name only one of them", strconv.QuoteToASCII(name), strconv.QuoteToASCII(at))
	}
	return nil
}

// checkNamed refuses a path that the container could replace by a link to any file of the host. It also refuses a path
// that shows hostexec's state, because code with that state can leave its sandbox.
func checkNamed(name string, dirs *mount.Table, store string) error {
	at, state := mount.Resolved(name), mount.Resolved(store)
	switch {
	case dirs.Writable(name):
		return fmt.Errorf("the container can replace %s, which the configuration opens to the sandbox", strconv.QuoteToASCII(name))
	case names.Within(at, state) || names.Within(state, at):
		return fmt.Errorf("%s shows the state of hostexec, in %s: name parts of it in sandbox that do not", strconv.QuoteToASCII(name), strconv.QuoteToASCII(store))
	}
	return nil
}

// checkProgram refuses a program that the sandbox cannot read, and says what to add.
func checkProgram(v *policy.Verdict, home string, paths []sandbox.Path) error {
	need := missingReads(v.Command.Path, home, paths)
	if len(need) == 0 {
		return nil
	}
	return fmt.Errorf("the program is %s, which is not in the sandbox: config.yaml: commands.%s.sandbox.read: [%s]",
		strconv.QuoteToASCII(v.Command.Path), v.Args[0], strings.Join(names.PrintableArgs(need), ", "))
}

func sandboxEnviron(environ []string, private state.SandboxDirs, v *policy.Verdict, paths []sandbox.Path) []string {
	env := []string{"HOME=" + private.Home, "TMPDIR=" + private.Tmp}
	if len(v.Sandbox.Net.Ports) > 0 {
		env = append(env, "RES_OPTIONS=use-vc") // names are looked up by TCP, because there is no UDP (resolv.conf(5))
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "HOME" || name == "TMPDIR" { // the sandbox has its own, whatever the configuration passes
			continue
		}
		if name == "PATH" {
			kv = name + "=" + readablePath(value, slices.Concat(sandbox.System, paths))
		}
		if slices.Contains(plainVariables, name) || slices.Contains(v.Sandbox.Env, name) || slices.Contains(v.Env.Pass, name) {
			env = append(env, kv)
		}
	}
	return env
}

// linkHome creates links in the private home of the sandbox for paths of the home that the configuration opens,
// and copies the caches there. Sandboxed programs can write the private home, so linkHome follows no link in
// it.
func linkHome(private, home string, s policy.Sandbox, c *cacheCopy) error {
	root, err := os.OpenRoot(private)
	if err != nil {
		return err
	}
	defer root.Close()
	named := slices.Sorted(slices.Values(slices.Concat(s.Write, s.Read, s.Creds))) // directories before their files
	for _, name := range named {
		if rest, ok := pathBelow(name, home); ok {
			if err := linkTo(root, rest, name, named); err != nil {
				return err
			}
		}
	}
	for _, name := range s.Cache {
		if rest, ok := pathBelow(name, home); ok {
			if err := c.copyOnce(root, rest, name, named); err != nil {
				return fmt.Errorf("copy the cache %s: %w", strconv.QuoteToASCII(name), err)
			}
		}
	}
	return nil
}

// pathBelow returns the path of name relative to home, if name is below home.
func pathBelow(name, home string) (rest string, ok bool) {
	rest, ok = names.CutDir(name, filepath.Clean(home))
	return rest, ok && home != "" && rest != "."
}

// linkTo makes rest in root a link to the file called to, unless rest exists or is below a link to one of named.
func linkTo(root *os.Root, rest, to string, named []string) error {
	if at, err := removeLinks(root, rest, named); at != "" || err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(rest), 0o700); err != nil {
		return err
	}
	if err := root.Symlink(to, rest); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// removeLinks returns the first link on the way to rest in root, if it leads to one of named. It removes other links
// there: those of an earlier configuration, and those that a program has made.
func removeLinks(root *os.Root, rest string, named []string) (to string, err error) {
	for i, c := range rest {
		if c != filepath.Separator {
			continue
		}
		to, err := root.Readlink(rest[:i])
		if err == nil && slices.Contains(named, to) {
			return to, nil
		}
		if err == nil {
			return "", root.Remove(rest[:i])
		}
	}
	return "", nil
}

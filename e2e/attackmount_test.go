// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Attacks by directories that have a second name on the host: the engine mounts a directory,
// and not its name. Only root can give it one.

// mounts mounts something on this host for the length of a test, with mount(8) or another
// program that takes the mount point last.
func mounts(t *testing.T, at string, argv ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("only root can mount: run the integration tests as root, or leave this one out by name")
	}
	check(t, os.MkdirAll(at, 0o755))
	if out, err := exec.Command(argv[0], append(argv[1:], at)...).CombinedOutput(); err != nil {
		t.Fatalf("%q at %s: %v: %s", argv, at, err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", at).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", at, err, out)
		}
	})
}

// sub makes a directory in the person's home.
func (h *Host) sub(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(h.Home, name)
	h.mkdir(t, dir)
	return dir
}

func binds(t *testing.T, source, at string) { t.Helper(); mounts(t, at, "mount", "--bind", source) }

// TestIntegrationAttackAlias mounts hostexec's state into a container by other names under which
// the host has mounted it.
//
// Attack 119.
func TestIntegrationAttackAlias(t *testing.T) {
	h, canary := hostWithCanary(t)
	at := func(name string) string { return filepath.Join(h.Home, name) }
	h.mkdir(t, filepath.Join(h.State, "projects"))
	h.Write(t, filepath.Join(h.State, "projects"), "other.yaml", "version: 1\n", 0o600)
	h.Write(t, h.sub(t, "tools"), "tool", "#!/bin/sh\ncat "+canary+"\n", 0o755)
	check(t, os.Symlink(at("tools/tool"), at("tool")))
	for _, d := range []string{"sub", "elsewhere"} {
		h.mkdir(t, at(d))
	}
	binds(t, h.State, at("state-alias"))
	binds(t, h.Home, at("home-alias"))
	binds(t, filepath.Join(h.State, "projects"), at("part-alias"))
	binds(t, at("state-alias"), at("alias-of-alias"))
	binds(t, h.State, at("above/below"))
	binds(t, at("tools"), at("tools-alias"))
	binds(t, at("tools"), at("above-tools/below"))
	binds(t, filepath.Join(h.Home, ".docker", "cli-plugins"), at("plugins-alias"))
	mounts(t, at("overlay"), "mount", "-t", "overlay", "-o", "lowerdir="+h.State+":"+at("sub"), "overlay")
	mounts(t, at("overlay-home/in"), "mount", "-t", "overlay", "-o", "lowerdir="+h.State+":"+at("sub"), "overlay")
	volume := unique("alias" + filepath.Base(h.Home))
	h.Must(t, "volume", "create", "-o", "type=none", "-o", "o=bind", "-o", "device="+at("home-alias"), volume)
	t.Cleanup(func() { h.Must(t, "volume", "rm", "-f", volume) })
	const state, tool = "covers hostexec's own state", "which --proxy tool runs"
	for _, tt := range []struct{ mount, says string }{
		{"-v " + at("state-alias") + ":/h:ro", state},
		{"-v " + at("home-alias") + ":/h", state},
		{"-v " + at("part-alias") + ":/h", state},
		{"-v " + at("alias-of-alias") + ":/h", state},
		{"-v " + at("home-alias/state/sessions") + ":/h", state},
		{"-v " + at("above") + ":/h:ro", "with " + at("above/below") + ` below it. ` + state},
		{"--mount type=bind,source=" + at("above") + ",target=/h", state},
		{"-v " + at("overlay") + ":/h", state},
		{"-v " + volume + ":/h", state},
		{"-v " + at("tools-alias") + ":/h", tool},
		{"-v " + at("tools-alias/tool") + ":/h", tool},
		{"-v " + at("above-tools") + ":/h", tool},
		{"-v " + at("above-tools") + ":/h:ro", tool}, // what is mounted below is not
		{"-v " + at("plugins-alias") + ":/h", "which docker starts as hostexec"},
	} {
		h.refuses(t, badInput{args: tt.mount + " --proxy tool={HOME}/tool {IMAGE}", says: tt.says})
	}
	for _, dir := range []string{"state-alias/x", "part-alias/x", "home-alias/state"} {
		r := h.runsProxy(t, "--dir", at(dir), "true")
		if r.Code != 125 || !strings.Contains(r.Err, "overlap") {
			t.Errorf("requests in %s: %v", dir, r)
		}
	}
	binds(t, h.Work, at("work-alias"))
	h.Write(t, h.State, "config.yaml", "version: 1\n", 0o600) // which the mount below above would show, too
	for _, ordinary := range []string{
		"-v " + at("work-alias") + ":/w", "-v " + at("tools-alias") + ":/w:ro", "--mount type=bind,bind-nonrecursive,source=" + at("above") + ",target=/w",
	} {
		args := append(strings.Fields("--rm "+ordinary+" -w /w --proxy tool="+at("tool")), image(t, "busybox"), "tool")
		want(t, ordinary, h.Run(t, args...).String(), Result{Out: "sings\n"}.String())
	}
}

// TestIntegrationAttackMountBelowPath mounts a directory read-only into the container, below which
// the host has mounted a directory of its PATH. Many engines leave that one writable.
//
// Attack 62.
func TestIntegrationAttackMountBelowPath(t *testing.T) {
	h, canary := hostWithCanary(t)
	tools := h.sub(t, "tools")
	h.Write(t, tools, "helper", "#!/bin/sh\necho mine\n", 0o755)
	h.Write(t, h.Home, "caller", "#!/bin/sh\necho $PATH\nexec helper\n", 0o755)
	above := filepath.Join(h.Home, "above")
	binds(t, tools, filepath.Join(above, "below"))
	h.Env = append(h.Env, "PATH="+strings.Join([]string{tools, filepath.Join(above, "below"), os.Getenv("PATH")}, ":"))
	r := h.Run(t, "--rm", "-v", above+":/w:ro", "-w", "/w", "--proxy", "caller="+filepath.Join(h.Home, "caller"), image(t, "busybox"),
		"sh", "-c", "printf '#!/bin/sh\ncat "+canary+"\n' >/w/below/helper; caller")
	if strings.Contains(r.Out, "sings") || strings.Contains(r.Out, tools) || strings.Contains(r.Out, above) {
		t.Errorf("a command has programs of a mount below a read-only one: %v", r)
	}
}

// TestIntegrationAttackFuse mounts the state through a file system that shows files of other file
// systems as its own, so that device and inode differ.
//
// Attack 119.
func TestIntegrationAttackFuse(t *testing.T) {
	bindfs, err := exec.LookPath("bindfs")
	if err != nil {
		t.Fatal("bindfs is needed: install it, or leave this test out by name")
	}
	h, _ := hostWithCanary(t)
	for name, source := range map[string]string{"state": h.State, "home": h.Home, "sessions": filepath.Join(h.State, "sessions")} {
		h.mkdir(t, source)
		at, link := filepath.Join(h.Home, "fuse-"+name), filepath.Join(h.Home, "to-"+name)
		check(t, os.Symlink(source, link)) // the state's own name would count as a process of hostexec's
		mounts(t, at, bindfs, "-o", "allow_other", link)
		h.refuses(t, badInput{args: "-v " + at + ":/h --proxy true {IMAGE}", says: "covers hostexec's own state"})
	}
}

// elsewhere has a person type docker where the directory at is another one than the engine
// sees: what is looked at before the container starts is not what the engine mounts.
func (h *Host) elsewhere(t *testing.T, at string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	script := `mount --bind "$0" "$1" && shift && exec docker "$@"`
	cmd := h.Command(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "--", "sh", "-c", script, h.Work, at}, args...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return Result{Out: out.String(), Err: errs.String(), Code: exitCode(cmd.ProcessState)}
}

// TestIntegrationAttackMounted has the engine mount other sources than the check before the start
// saw. The container is killed, and no call is answered.
//
// Attack 119.
func TestIntegrationAttackMounted(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can mount: run the integration tests as root, or leave this one out by name")
	}
	h := newHost(t, false)
	at := filepath.Join(h.Home, "at")
	check(t, os.Mkdir(at, 0o755))
	tool := h.Write(t, h.sub(t, "tools"), "tool", "#!/bin/sh\necho called\n", 0o755)
	binds(t, filepath.Dir(tool), filepath.Join(h.Home, "tools-alias"))
	for _, tt := range []struct{ name, source, says string }{
		{"the state", h.State, "covers hostexec's own state"},
		{"above it", h.Home, "covers hostexec's own state"},
		{"a program", filepath.Dir(tool), "which --proxy tool runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			binds(t, tt.source, at)
			name := unique("mounted-" + strings.ReplaceAll(tt.name, " ", "-"))
			t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", name) })
			args := h.runArgs("--name", name, "-v", at+":/h", "-v", h.Work+":/w", "-w", "/w", "--proxy", "tool="+tool, image(t, "busybox"), "sh", "-c", "tool; echo code $?")
			r := h.elsewhere(t, at, args...)
			if r.Code != 137 || r.Out != "" {
				t.Errorf("the container: %v, want it killed before its call is answered", r)
			}
			session := strings.TrimSpace(h.Must(t, "inspect", "--format", `{{index .Config.Labels "io.hostexec.session"}}`, name))
			eventually(t, patience, "the log says why", func() bool {
				return strings.Contains(h.Docker(t, "hostexec", "logs", session).Out, tt.says)
			})
		})
	}
	t.Run("nothing", func(t *testing.T) {
		args := h.runArgs("--rm", "-v", at+":/h", "-v", h.Work+":/w", "-w", "/w", "--proxy", "tool="+tool, image(t, "busybox"), "tool")
		want(t, "a call", h.elsewhere(t, at, args...).Out, "called\n")
	})
}

// TestIntegrationAttackPropagated mounts the state on the host below a directory from which new
// mounts propagate into the container. The next call is not answered, and the container is killed.
//
// Attack 119.
func TestIntegrationAttackPropagated(t *testing.T) {
	h := newHost(t, false)
	at := filepath.Join(h.Home, "shared")
	binds(t, h.Work, at)
	if out, err := exec.Command("mount", "--make-shared", at).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := h.Detached(t, "-v", at+":/w:rslave", "-w", "/w", "--proxy", "hecho="+find(t, "echo"), image(t, "full"), "/probe", "hold")
	want(t, "a call before", c.Exec(t, "hecho", "before").Out, "before\n")
	binds(t, filepath.Dir(h.Home), filepath.Join(at, "other"))
	r := c.Exec(t, "hecho", "after")
	if r.Code != 137 || r.Out != "" {
		t.Errorf("a call after: %v, want the container killed before it is answered", r)
	}
	eventually(t, patience, "the log says why", func() bool {
		return strings.Contains(h.Must(t, "hostexec", "logs", c.Session), "covers hostexec's own state")
	})
}

// TestIntegrationAttackShim has a container with CAP_SYS_ADMIN make its share writable and replace
// the shim. This changes neither another session's shim nor the host's.
//
// Attack 211.
func TestIntegrationAttackShim(t *testing.T) {
	h := newHost(t, false)
	flags := []string{"-v", h.Work + ":/w", "-w", "/w", "--proxy", "hecho=" + find(t, "echo")}
	other := h.Detached(t, append(flags, image(t, "full"), "/probe", "hold")...)
	script := `mount -o remount,rw,bind /run/hostexec && echo '#!/bin/sh' >/run/hostexec/bin/hostexec && rm /run/hostexec/bin/hecho && ln -s / /run/hostexec/bin/hecho && echo written`
	r := h.Run(t, append(append([]string{"--rm", "--cap-add", "SYS_ADMIN", "--security-opt", "apparmor=unconfined"}, flags...), image(t, "busybox"), "sh", "-c", script)...)
	if r.Out != "written\n" {
		t.Fatalf("the container cannot write to its share, so nothing is tested: %v", r)
	}
	want(t, "another session's call", other.Exec(t, "hecho", "still").Out, "still\n")
	c := h.Detached(t, append(flags, image(t, "full"), "/probe", "hold")...)
	want(t, "a later session's call", c.Exec(t, "hecho", "still").Out, "still\n")
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installer is a person who runs install.sh, on a machine that has few programs.
type installer struct {
	shell   []string // that reads the script
	tools   []string // besides those that the script always needs
	uname   [2]string
	script  string
	env     []string
	plugins string // where the plugin goes
	temp    string // TMPDIR
	dir     string
}

func newInstaller(t *testing.T, base string) *installer {
	t.Helper()
	dir := t.TempDir()
	i := &installer{
		shell: []string{"sh"}, tools: []string{"curl", "sha256sum", "docker"}, uname: [2]string{"Linux", "x86_64"}, script: string(readFile(t, "../install.sh")),
		plugins: filepath.Join(dir, "home", ".docker", "cli-plugins"), temp: filepath.Join(dir, "tmp"), dir: dir,
	}
	i.env = []string{"HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + i.temp, "HOSTEXEC_BASE_URL=" + base}
	check(t, os.MkdirAll(i.temp, 0o755))
	return i
}

// run runs the script as "curl ... | sh" does.
func (i *installer) run(t *testing.T) Result {
	t.Helper()
	bin, err := os.MkdirTemp(i.dir, "bin")
	check(t, err)
	for _, tool := range append([]string{"cat", "chmod", "cp", "mkdir", "mktemp", "mv", "rm", "sed"}, i.tools...) {
		if tool == "docker" {
			check(t, os.WriteFile(filepath.Join(bin, tool), nil, 0o755))
			continue
		}
		check(t, os.Symlink(find(t, tool), filepath.Join(bin, tool)))
	}
	uname := "#!/bin/sh\ncase $1 in -s) echo " + i.uname[0] + " ;; -m) echo " + i.uname[1] + " ;; esac\n"
	check(t, os.WriteFile(filepath.Join(bin, "uname"), []byte(uname), 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, find(t, i.shell[0]), i.shell[1:]...)
	cmd.Env = append([]string{"PATH=" + bin}, i.env...)
	cmd.Stdin = strings.NewReader(i.script)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	return Result{out.String(), errs.String(), exitCode(cmd.ProcessState)}
}

// leftNothing checks that a failure has left no file.
func (i *installer) leftNothing(t *testing.T, r Result) {
	t.Helper()
	if r.Code == 0 || r.Out != "" || !strings.Contains(r.Err, "install.sh: ") {
		t.Errorf("%v, want a failure that is explained", r)
	}
	for _, dir := range []string{i.plugins, i.temp} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
			t.Errorf("%s has %v (%v)", dir, entries, err)
		}
	}
}

// newRelease serves a release by path, with plugins that are not the real ones.
func newRelease(t *testing.T) map[string]string {
	t.Helper()
	release := map[string]string{}
	for _, version := range []string{"v1.2.3", "v1.2.2"} {
		var sums strings.Builder
		for _, platform := range []string{"linux-amd64", "linux-amd64.deb", "linux-amd64.sbom.json", "linux-arm-v7", "linux-arm64", "darwin-arm64", "windows-amd64.exe"} {
			name := "hostexec-" + version + "." + platform
			release["/download/"+version+"/"+name] = "the plugin " + name
			sums.WriteString(sumLine(name, "the plugin "+name))
		}
		release["/download/"+version+"/checksums.txt"] = sums.String()
	}
	for path, text := range release {
		if name, ok := strings.CutPrefix(path, "/download/v1.2.3/"); ok {
			release["/latest/download/"+name] = text
		}
	}
	return release
}

func sumLine(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]) + "  " + name + "\n"
}

func serveRelease(t *testing.T, release map[string]string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := release[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(text, "(cut)") {
			w.Header().Set("Content-Length", "1000") // the connection ends early
		}
		w.Write([]byte(text))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestInstallScript installs the plugin with each shell, and with each program that can download or verify.
func TestInstallScript(t *testing.T) {
	base := serveRelease(t, newRelease(t))
	for _, shell := range []string{"sh", "bash", "busybox sh", "bash --posix"} {
		for _, tools := range []string{"curl sha256sum", "wget shasum perl", "wget sha256sum", "curl openssl"} {
			i := newInstaller(t, base)
			i.shell, i.tools = strings.Fields(shell), append(strings.Fields(tools), "docker")
			r := i.run(t)
			file := filepath.Join(i.plugins, "docker-hostexec")
			want(t, shell+" with "+tools+": code", r.Code, 0)
			want(t, "stdout", r.Out, "installed docker hostexec v1.2.3: "+file+"\n")
			want(t, "stderr", r.Err, "")
			want(t, "the plugin", string(readFile(t, file)), "the plugin hostexec-v1.2.3.linux-amd64")
			fi, err := os.Stat(file)
			check(t, err)
			want(t, "its mode", fi.Mode(), 0o755)
			left, err := os.ReadDir(i.temp)
			check(t, err)
			want(t, "files in TMPDIR", len(left), 0)
		}
	}
}

func TestInstallScriptPlatforms(t *testing.T) {
	base := serveRelease(t, newRelease(t))
	for _, tt := range []struct{ os, arch, want string }{
		{"Linux", "aarch64", "linux-arm64"}, {"Linux", "armv7l", "linux-arm-v7"}, {"Darwin", "arm64", "darwin-arm64"},
		{"MINGW64_NT-10.0", "x86_64", "windows-amd64.exe"}, {"Linux", "s390x", ""}, {"Linux", "i686", ""}, {"Linux", "armv6l", ""}, {"Darwin", "s390x", ""}, {"SunOS", "x86_64", ""},
	} {
		t.Run(tt.os+" "+tt.arch, func(t *testing.T) {
			i := newInstaller(t, base)
			i.uname = [2]string{tt.os, tt.arch}
			r := i.run(t)
			if tt.want == "" {
				i.leftNothing(t, r)
				return
			}
			file := "docker-hostexec"
			if strings.HasSuffix(tt.want, ".exe") {
				file += ".exe"
			}
			want(t, "the plugin", string(readFile(t, filepath.Join(i.plugins, file))), "the plugin hostexec-v1.2.3."+tt.want)
			if served := !strings.Contains(r.Err, "only on Linux"); served != (tt.os == "Linux") {
				t.Errorf("%v, want it to say where sessions are served", r)
			}
		})
	}
}

// TestInstallScriptRefuses checks that a release that is damaged, or a machine that lacks something, leaves nothing.
func TestInstallScriptRefuses(t *testing.T) {
	const sums, plugin = "/latest/download/checksums.txt", "/latest/download/hostexec-v1.2.3.linux-amd64"
	other := sumLine("hostexec-v1.2.3.linux-amd64", "another plugin")
	for name, tt := range map[string]struct {
		harm func(release map[string]string, i *installer)
		want string
	}{
		"another plugin":   {func(release map[string]string, _ *installer) { release[plugin] = "another plugin" }, "the checksum of hostexec-v1.2.3.linux-amd64 is "},
		"half a plugin":    {func(release map[string]string, _ *installer) { release[plugin] = "the plugin (cut)" }, "cannot download"},
		"no plugin":        {func(release map[string]string, _ *installer) { delete(release, plugin) }, "cannot download"},
		"no checksums":     {func(release map[string]string, _ *installer) { delete(release, sums) }, "cannot download"},
		"empty checksums":  {func(release map[string]string, _ *installer) { release[sums] = "" }, "the release has no plugin for linux-amd64"},
		"a short checksum": {func(release map[string]string, _ *installer) { release[sums] = other[60:] }, "the release has no plugin for linux-amd64"},
		"two checksums":    {func(release map[string]string, _ *installer) { release[sums] += other }, "more than one plugin"},
		"a path": {func(release map[string]string, _ *installer) {
			release[sums] = strings.Replace(other, "hostexec-", "../hostexec-", 1)
		}, "the release has no plugin"},
		"no download":     {func(_ map[string]string, i *installer) { i.tools = []string{"sha256sum"} }, "curl or wget is needed"},
		"no verification": {func(_ map[string]string, i *installer) { i.tools = []string{"curl"} }, "sha256sum, shasum or openssl is needed"},
		"no such version": {func(_ map[string]string, i *installer) { i.env = append(i.env, "HOSTEXEC_VERSION=v9") }, "/download/v9/checksums.txt"},
		"nobody listens":  {func(_ map[string]string, i *installer) { i.env = append(i.env, "HOSTEXEC_BASE_URL=http://127.0.0.1:1") }, "cannot download"},
		"wget: nobody": {func(_ map[string]string, i *installer) {
			i.tools, i.env = []string{"wget", "sha256sum"}, append(i.env, "HOSTEXEC_BASE_URL=http://127.0.0.1:1")
		}, "cannot download"},
		"wget: half a plugin": {func(release map[string]string, i *installer) {
			i.tools, release[plugin] = []string{"wget", "sha256sum"}, "the plugin (cut)"
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // curl and wget try again, and wait before
			release := newRelease(t)
			base := serveRelease(t, release)
			i := newInstaller(t, base)
			tt.harm(release, i)
			r := i.run(t)
			i.leftNothing(t, r)
			wantText(t, r.Err, tt.want)
		})
	}
}

// TestInstallScriptKeepsOld checks that a plugin that is there stays after a failure, and is replaced, not written
// to, otherwise: a session may run it.
func TestInstallScriptKeepsOld(t *testing.T) {
	release := newRelease(t)
	i := newInstaller(t, serveRelease(t, release))
	i.env = append(i.env, "DOCKER_CONFIG="+filepath.Join(i.dir, "config"))
	i.plugins = filepath.Join(i.dir, "config", "cli-plugins")
	file := filepath.Join(i.plugins, "docker-hostexec")
	check(t, os.MkdirAll(i.plugins, 0o755))
	check(t, os.WriteFile(file, []byte("old"), 0o755))
	running, err := os.Open(file)
	check(t, err)
	defer running.Close()

	good := release["/latest/download/hostexec-v1.2.3.linux-amd64"]
	release["/latest/download/hostexec-v1.2.3.linux-amd64"] = "another"
	if r := i.run(t); r.Code == 0 {
		t.Errorf("%v, want a failure", r)
	}
	want(t, "the plugin after a failure", string(readFile(t, file)), "old")
	release["/latest/download/hostexec-v1.2.3.linux-amd64"] = good
	want(t, "code", i.run(t).Code, 0)
	want(t, "the plugin", string(readFile(t, file)), good)
	old := make([]byte, 100)
	n, err := running.Read(old)
	check(t, err)
	want(t, "the plugin that runs", string(old[:n]), "old")

	i.env = append(i.env, "HOSTEXEC_VERSION=v1.2.2", "HOSTEXEC_PLUGINS="+filepath.Join(i.dir, "a b"))
	want(t, "stdout for a version and a directory", i.run(t).Out, "installed docker hostexec v1.2.2: "+filepath.Join(i.dir, "a b", "docker-hostexec")+"\n")
	left, err := os.ReadDir(i.plugins)
	check(t, err)
	want(t, "files of the directory", len(left), 1)
}

// TestInstallScriptCut runs the beginning of the script, as a shell does when the download of the script breaks.
func TestInstallScriptCut(t *testing.T) {
	requests := make(chan string, 10_000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.Path
		http.NotFound(w, r)
	}))
	defer srv.Close()
	i := newInstaller(t, srv.URL)
	whole := i.script
	last := strings.LastIndex(whole, "main ")
	cuts := []int{last + len("ma"), last + len("main \""), last + len(`main "$`), last + len(`main "$@`)}
	for at := 0; at < last; at += 40 {
		cuts = append(cuts, at)
	}
	for _, n := range cuts {
		i.script = whole[:n]
		i.run(t)
	}
	if len(requests) > 0 {
		t.Errorf("a part of the script asked for %s", <-requests)
	}
	i.script = whole
	i.leftNothing(t, i.run(t))
	if len(requests) == 0 {
		t.Error("the whole script asked for nothing")
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// asset returns the path of this platform's asset of the release that `make package` has built. ext is "" for the plugin.
func asset(t testing.TB, ext string) string {
	t.Helper()
	platform := "linux-" + runtime.GOARCH
	if runtime.GOARCH == "arm" {
		platform += "-v7"
	}
	files, err := filepath.Glob("../bin/dist/hostexec-v*." + platform + ext)
	check(t, err)
	if len(files) != 1 {
		t.Fatalf("bin/dist has %d assets for this platform: make package builds them", len(files))
	}
	path, err := filepath.Abs(files[0])
	check(t, err)
	return path
}

// assetVersion returns the version that the names of assets have.
func assetVersion(t testing.TB) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(asset(t, "")), "hostexec-"), ".linux-")
	return version
}

// debian is the image of a minimal Debian with man(1). Making it takes a minute or more, so that later runs of the
// tests use it again.
func debian(t testing.TB) string {
	t.Helper()
	const ref = "hostexec-e2e/debian:bookworm"
	if exec.Command("docker", "image", "inspect", ref).Run() == nil {
		return ref
	}
	if os.Getuid() != 0 {
		t.Fatal("debootstrap needs root: run the integration tests as root, or leave this one out by name")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 15*patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, find(t, "debootstrap"), "--variant=minbase", "--include=man-db", "bookworm", dir).CombinedOutput(); err != nil {
		t.Fatalf("debootstrap: %v\n%s", err, clip(string(out)))
	}
	tar := exec.CommandContext(ctx, "tar", "-C", dir, "--exclude=./var/cache/apt/*", "--exclude=./var/lib/apt/lists/*", "--exclude=./dev/*", "-c", ".")
	load := exec.CommandContext(ctx, "docker", "import", "-", ref)
	var err error
	load.Stdin, err = tar.StdoutPipe()
	check(t, err)
	check(t, tar.Start())
	out, err := load.CombinedOutput()
	if err != nil || tar.Wait() != nil {
		t.Fatalf("docker import: %v: %s", err, out)
	}
	return ref
}

// debianHost starts a container that is a host of its own: it has the engine's socket, the docker of this host, and the
// package. Its state and working directory have the same paths here, because the engine mounts paths of this host.
func debianHost(t testing.TB) *Container {
	t.Helper()
	h := newHost(t, false)
	c := &Container{Host: h, User: "0"}
	c.ID = strings.TrimSpace(h.Must(t, "run", "-d", "--label", runLabel, "--network", "none", "-v", "/var/run/docker.sock:/var/run/docker.sock",
		"-v", find(t, "docker")+":/usr/bin/docker:ro", "-v", asset(t, ".deb")+":/package.deb:ro", "-v", probePath(t)+":/probe:ro",
		"-v", h.State+":"+h.State, "-v", h.Work+":"+h.Work, "-w", h.Work, "-e", "HOSTEXEC_HOME="+h.State, debian(t), "/probe", "hold"))
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", c.ID) })
	return c
}

// must runs a bash script and returns its stdout.
func (c *Container) must(t testing.TB, script string) string {
	t.Helper()
	r := c.Long(t, script)
	if r.Code != 0 {
		t.Fatalf("%s: %v", script, r)
	}
	return r.Out
}

// TestIntegrationPackageDeb installs the deb in a Debian that has nothing else, and uses all that it installs.
func TestIntegrationPackageDeb(t *testing.T) {
	t.Parallel() // most of it is waiting
	const plugin = "/usr/libexec/docker/cli-plugins/docker-hostexec"
	c := debianHost(t)
	c.must(t, "dpkg -i /package.deb")
	wantText(t, c.must(t, "docker hostexec version"), "docker hostexec version "+assetVersion(t)+", ")
	want(t, "the plugin that docker finds", c.must(t, `docker info --format '{{range .ClientInfo.Plugins}}{{if eq .Name "hostexec"}}{{.Path}}{{end}}{{end}}'`), plugin+"\n")
	want(t, "files that are not the package's", c.must(t, "dpkg --verify docker-hostexec-plugin"), "")
	sum, _, _ := strings.Cut(c.must(t, "sha256sum "+plugin), " ")
	want(t, "checksum of the plugin", sum, sumOf(t, asset(t, "")))

	want(t, "manual pages", c.must(t, "man -w docker-hostexec docker-hostexec-policy-add"), "/usr/share/man/man1/docker-hostexec.1.gz\n/usr/share/man/man1/docker-hostexec-policy-add.1.gz\n")
	wantText(t, c.must(t, "man docker-hostexec-run"), "docker-hostexec-run - Create and run a new container from an image")
	want(t, "warnings about manual pages", c.must(t, "for page in /usr/share/man/man1/docker-hostexec*; do MANWIDTH=200 man --warnings -l $page 2>&1 >/dev/null; done"), "")

	wantText(t, c.must(t, "docker __complete hostexec sta"), "status\t")
	wantText(t, c.must(t, plugin+" __complete sta"), "status\t")
	wantText(t, c.must(t, ". /usr/share/bash-completion/completions/docker-hostexec && complete -p docker-hostexec"), "-F __start_docker-hostexec docker-hostexec")

	c.must(t, `printf '#!/bin/sh\necho "$@"; pwd; cat /etc/hostname\n' >/usr/local/bin/tool && chmod +x /usr/local/bin/tool`)
	hostname := c.must(t, "cat /etc/hostname")
	got := c.must(t, "docker hostexec run --rm --label "+runLabel+" --network none --proxy tool=allow --workspace "+image(t, "busybox")+" tool a 'b c' 2>/dev/null")
	want(t, "a call to the host that has the package", got, "a b c\n"+c.Host.Work+"\n"+hostname)
	want(t, "records of the call's end", len(c.Host.Audit(t, "COMPLETE", "tool")), 1)

	files := c.must(t, "dpkg -L docker-hostexec-plugin | grep hostexec")
	c.must(t, "dpkg -r docker-hostexec-plugin")
	want(t, "files that are left", c.must(t, "ls -d /usr/libexec/docker "+strings.ReplaceAll(files, "\n", " ")+" 2>/dev/null || true"), "")
}

// TestIntegrationPackageRPM installs the rpm below a directory, without its dependencies, of which there are none.
func TestIntegrationPackageRPM(t *testing.T) {
	root := t.TempDir()
	for _, args := range [][]string{{"--initdb"}, {"--install", "--nosignature", asset(t, ".rpm")}, {"--verify", "docker-hostexec-plugin"}} {
		if out, err := exec.Command(find(t, "rpm"), append([]string{"--root", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("rpm %q: %v: %s", args, err, out)
		}
	}
	want(t, "checksum of the plugin", sumOf(t, filepath.Join(root, "usr/libexec/docker/cli-plugins/docker-hostexec")), sumOf(t, asset(t, "")))
	for _, file := range []string{
		"share/man/man1/docker-hostexec.1.gz", "share/man/man1/docker-hostexec-run.1.gz", "share/bash-completion/completions/docker-hostexec",
		"share/zsh/site-functions/_docker-hostexec", "share/fish/vendor_completions.d/docker-hostexec.fish", "share/licenses/docker-hostexec-plugin/LICENSE",
	} {
		if fi, err := os.Stat(filepath.Join(root, "usr", file)); err != nil || fi.Mode() != 0o644 {
			t.Errorf("/usr/%s: %v, %v", file, fi, err)
		}
	}
}

// TestIntegrationPackageStatements checks that checksums, SBOM, provenance and formula are about the plugin that was built.
func TestIntegrationPackageStatements(t *testing.T) {
	plugin := asset(t, "")
	sums := string(readFile(t, filepath.Join(filepath.Dir(plugin), "checksums.txt")))
	for _, ext := range []string{"", ".deb", ".rpm", ".sbom.json", ".provenance.json"} {
		wantText(t, sums, sumOf(t, plugin+ext)+"  "+filepath.Base(plugin+ext)+"\n")
	}
	wantText(t, sums, sumOf(t, "../install.sh")+"  install.sh\n")
	wantText(t, string(readFile(t, filepath.Join(filepath.Dir(plugin), "homebrew", "Formula", "hostexec.rb"))), fmt.Sprintf("sha256 %q", sumOf(t, plugin)))

	var sbom struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	check(t, json.Unmarshal(readFile(t, plugin+".sbom.json"), &sbom))
	want(t, "format of the SBOM", sbom.BOMFormat, "CycloneDX")
	want(t, "what it is about", sbom.Metadata.Component.Name+" "+sbom.Metadata.Component.Version, strings.TrimSuffix(module, "/")+" "+assetVersion(t))
	modules := map[string]string{}
	for _, m := range sbom.Components {
		modules[m.Name] = m.Version
	}
	for _, m := range linkedModules(t, plugin) {
		if modules[m.path] != m.version {
			t.Errorf("the SBOM has %s %s, want %s", m.path, modules[m.path], m.version)
		}
	}

	var provenance struct {
		Subject []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters   struct{ Version string }
				ResolvedDependencies []struct{ Name, URI string }
			}
		}
	}
	check(t, json.Unmarshal(readFile(t, plugin+".provenance.json"), &provenance))
	want(t, "subjects of the provenance", len(provenance.Subject), 3)
	for _, s := range provenance.Subject {
		want(t, s.Name, s.Digest.SHA256, sumOf(t, filepath.Join(filepath.Dir(plugin), s.Name)))
	}
	want(t, "version of the provenance", provenance.Predicate.BuildDefinition.ExternalParameters.Version, assetVersion(t))
	from := fmt.Sprint(provenance.Predicate.BuildDefinition.ResolvedDependencies)
	for _, m := range linkedModules(t, plugin) {
		wantText(t, from, "pkg:golang/"+m.path+"@"+m.version+"}")
	}
}

// TestIntegrationPackageReproducible builds the packages again, in another directory and with another umask. Go takes
// compiled packages from its cache, which make reproduce does not.
func TestIntegrationPackageReproducible(t *testing.T) {
	t.Parallel()
	asset(t, "")
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	check(t, err)
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", "..", "reproduce")
	cmd.Env = append(os.Environ(), "CACHE="+strings.TrimSpace(string(cache)), "MAKEFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "both builds gave the same bytes\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// linkedModule is a module whose code a program has.
type linkedModule struct{ path, version string }

func linkedModules(t testing.TB, program string) (all []linkedModule) {
	t.Helper()
	out, err := exec.Command("go", "version", "-m", program).Output()
	check(t, err)
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "dep" {
			all = append(all, linkedModule{f[1], f[2]})
		}
	}
	if len(all) < 50 {
		t.Fatalf("%s has %d modules, which cannot be all", program, len(all))
	}
	return all
}

// sumOf returns the SHA-256 of a file.
func sumOf(t testing.TB, file string) string {
	t.Helper()
	f, err := os.Open(file)
	check(t, err)
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	check(t, err)
	return hex.EncodeToString(sum.Sum(nil))
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// goProgram builds a program of testdata/testcontainers, a module of its own.
func goProgram(t *testing.T, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = filepath.Join("testdata", "testcontainers")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false -trimpath")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
	return out
}

// TestIntegrationWithTestcontainers runs a program that starts a container by testcontainers-go. The container calls the
// host, and Ryuk, which mounts the engine's own socket, removes it when the program has gone. Ryuk is a stand-in.
func TestIntegrationWithTestcontainers(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	client, prefix := goProgram(t, "."), unique("tc")
	module, err := os.ReadFile(filepath.Join("testdata", "testcontainers", "go.mod"))
	check(t, err)
	version := regexp.MustCompile(`testcontainers/testcontainers-go (v\S+)`).FindStringSubmatch(string(module))
	source, err := exec.Command("go", "-C", filepath.Join("testdata", "testcontainers"), "list", "-m", "-f", "{{.Dir}}", "github.com/testcontainers/testcontainers-go@"+version[1]).Output()
	check(t, err)
	config, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(source)), "internal", "config", "config.go"))
	check(t, err)
	ryuk := prefix + "/" + regexp.MustCompile(`testcontainers/ryuk:[0-9.]+`).FindString(string(config))
	fs := newRootfs(t)
	fs.copy(t, goProgram(t, "./ryuk"), "/ryuk")
	fs.changes = []string{`ENTRYPOINT ["/ryuk"]`, "EXPOSE 8080"}
	h.load(t, fs, ryuk)
	img := image(t, "busybox")
	h.Must(t, "tag", img, prefix+"/"+img) // the prefix is for all images
	t.Cleanup(func() { h.Docker(t, "rmi", "-f", ryuk, prefix+"/"+img) })
	h.Env = append(h.Env, "TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX="+prefix, "TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1")

	call := []string{"hsh", "-c", "echo of the host"}
	r := h.feedFor(t, 3*time.Minute, "", "docker", with([]string{"--proxy", "hsh=/bin/sh", "--label", "tested", "--workdir-host", h.Work},
		append([]string{client, img}, call...)...)...)
	var id string
	var code int
	if _, err := fmt.Sscanf(r.Out, "of the host\n%s %d", &id, &code); err != nil || r.Code != 0 || code != 0 {
		t.Fatalf("testcontainers: %v", r)
	}
	eventually(t, patience, "Ryuk has removed the container", func() bool { return h.Docker(t, "inspect", id).Code != 0 })
	eventually(t, patience, "no session is left", func() bool { return len(h.Sessions(t)) == 0 })
}

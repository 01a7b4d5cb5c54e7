// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is what a run of the tests makes once.
type built struct {
	path string
	err  error
}

// plugin is the product as `make build` makes it, in base: what the tests run must not
// change under them. HOSTEXEC_E2E_PLUGIN names one that is there already.
var plugin = sync.OnceValue(func() built {
	src := os.Getenv("HOSTEXEC_E2E_PLUGIN")
	if src == "" {
		src = filepath.Join("..", "bin", "docker-hostexec")
		if out, err := exec.Command("make", "-s", "-C", "..", "build").CombinedOutput(); err != nil {
			return built{err: fmt.Errorf("make build: %w\n%s", err, out)}
		}
	}
	return place(src, "docker-hostexec")
})

// probe is the helper of probe/, static, so that it runs in an empty image too.
var probe = sync.OnceValue(func() built {
	dir, err := os.MkdirTemp("", "hostexec-probe-")
	if err != nil {
		return built{err: err}
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "probe")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "./probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return built{err: fmt.Errorf("build the probe: %w\n%s", err, text)}
	}
	return place(out, "probe")
})

// place copies src into base as name.
func place(src, name string) built {
	dir, err := base()
	if err != nil {
		return built{err: err}
	}
	based.Store(true)
	b, err := os.ReadFile(src)
	if err != nil {
		return built{err: err}
	}
	dst := filepath.Join(dir, name)
	return built{dst, os.WriteFile(dst, b, 0o755)}
}

func pluginPath(t testing.TB) string { return must(t, plugin()) }

func probePath(t testing.TB) string { return must(t, probe()) }

func must(t testing.TB, b built) string {
	t.Helper()
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

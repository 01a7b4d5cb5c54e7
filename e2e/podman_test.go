// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// nobody is who has Podman without being root: it wants an account, and needs no more.
const nobody = 65534

// TestIntegrationPodman runs calls over Podman's API, for root and for a user with a single user number.
func TestIntegrationPodman(t *testing.T) {
	t.Parallel() // as TestIntegrationConformance
	for who, tt := range map[string]struct {
		uid      uint32
		carriers []string
	}{
		"rootful":  {0, []string{"socket", "attach"}},
		"rootless": {nobody, []string{"socket", "relay"}},
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel() // one after the other for each user, whose locks all of its Podmans share
			for _, carrier := range tt.carriers {
				t.Run(carrier, func(t *testing.T) { conforms(t, podman(t, tt.uid), carrier) })
			}
		})
	}
}

// TestIntegrationPodmanWith gives sessions to containers of a client of Podman's Docker API. A container that is removed
// before its first start leaves none.
func TestIntegrationPodmanWith(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := podman(t, 0)
	client := func(args ...string) string {
		t.Helper()
		return h.Must(t, append([]string{"hostexec", "with", "--proxy", "hsh=/bin/sh", "--all", "--", "docker"}, args...)...)
	}
	name := unique("podman-with")
	client("run", "-d", "--name", name, "--network", "none", "-v", h.Work+":/w", "-w", "/w", image(t, "full"), "sleep", "1000")
	for _, then := range []string{"started", "restarted"} {
		want(t, then, h.Must(t, "exec", name, "hsh", "-c", "echo $PWD"), h.Work+"\n")
		client("restart", "-t0", name)
	}
	h.Must(t, "rm", "-f", name)
	client("create", "--name", name, "--network", "none", image(t, "full"), "true")
	h.Must(t, "rm", name)
	eventually(t, patience, "both sessions have gone", func() bool { return len(h.Sessions(t)) == 0 })
}

// podman starts podman system service for a user, and returns that person. It has processes
// and mounts of its own, which end with it.
func podman(t *testing.T, uid uint32) *Host {
	t.Helper()
	h := newHost(t, false)
	h.Name, h.cred = "podman", &syscall.Credential{Uid: uid, Gid: uid}
	dir := filepath.Join(h.Home, "podman")
	for _, d := range []string{h.Home, h.State, h.Work, filepath.Join(h.Home, ".docker"), dir} {
		h.mkdir(t, d)
	}
	check(t, os.Chmod(dir, 0o700)) // XDG_RUNTIME_DIR
	// This machine may not allow the limits that are Podman's own defaults.
	conf := h.Write(t, dir, "containers.conf", "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n", 0o644)
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--",
		"setpriv", "--reuid", strconv.Itoa(int(uid)), "--regid", strconv.Itoa(int(uid)), "--clear-groups", "--",
		"podman", "--runtime", "runc", "--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--tmpdir", filepath.Join(dir, "tmp"),
		"--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "system", "service", "--time", "0", "unix://"+socket)
	log, err := os.Create(filepath.Join(h.Home, "podman.log"))
	check(t, err)
	defer log.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "CONTAINERS_CONF=" + conf}
	check(t, cmd.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("podman says\n%s", clip(string(readFile(t, log.Name()))))
		}
		h.quiet(t, leaves+grace)
		for _, first := range children(t, cmd.Process.Pid) { // of its namespace, with which all others end
			syscall.Kill(first, syscall.SIGKILL)
		}
		cmd.Wait() // it was killed
	})
	h.Env = []string{"DOCKER_HOST=unix://" + socket}
	eventually(t, patience, "podman answers", func() bool { return h.Docker(t, "version").Code == 0 })
	h.load(t, fullImage(t), image(t, "full"))
	return h
}

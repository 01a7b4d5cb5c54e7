// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cleanUp removes the containers and files of this run, and those of killed runs where possible. A
// process of the product that long outlives its container is a failure, and is ended.
func cleanUp() error {
	dir, err := base()
	if err != nil {
		return err
	}
	err = removeContainers()
	removeOld()
	return errors.Join(err, endProcesses(dir), os.RemoveAll(dir))
}

// removeContainers removes this run's containers until none is left, because one that is being
// removed cannot be removed again.
func removeContainers() error {
	for deadline := time.Now().Add(patience); ; {
		list, err := exec.Command("docker", "ps", "-a", "--filter", "label=io.hostexec.e2e", "--format", `{{.ID}} {{.Label "io.hostexec.e2e"}}`).Output()
		if err != nil {
			return fmt.Errorf("list containers: %w", err)
		}
		left := 0
		for line := range strings.Lines(string(list)) {
			id, run, _ := strings.Cut(strings.TrimSpace(line), " ")
			own := run == strconv.Itoa(os.Getpid())
			if own || !alive(run) {
				err = errors.Join(err, exec.Command("docker", "rm", "-f", "-v", id).Run())
			}
			if own {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d containers are left: %w", left, err)
		}
	}
}

// removeOld removes the files of runs that were killed, where they are this user's.
func removeOld() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "hostexec-e2e-*-*")) // the pattern is a good one
	for _, dir := range dirs {
		run, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "hostexec-e2e-"), "-")
		if !alive(run) {
			os.RemoveAll(dir)
		}
	}
}

// alive reports whether a run of the tests still is, by its process number.
func alive(run string) bool {
	_, err := os.Stat("/proc/" + run)
	return err == nil
}

// endProcesses ends the processes that still run from dir, after the time that the product may
// take.
func endProcesses(dir string) error {
	deadline := time.Now().Add(25 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		left := processes(dir)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return killAll(left)
		}
		<-tick.C
	}
}

func killAll(pids []int) error {
	var names []string
	for _, pid := range pids {
		names = append(names, fmt.Sprintf("%d %s", pid, cmdline(pid)))
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return fmt.Errorf("these processes were left and are killed now:\n  %s", strings.Join(names, "\n  "))
}

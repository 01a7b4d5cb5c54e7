// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/moby/sys/atomicwriter"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// A service is a file and, for systemd, a link. The service manager need not run while they are written.

func install(dockerCLI command.Cli, m serviceManager, text string) error {
	file, _, err := m.find()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("install the service: %w", err)
	}
	if err := atomicwriter.WriteFile(file, []byte(text), 0o644); err != nil { // a manager must not read half of it
		return fmt.Errorf("install the service: %w", err)
	}
	if m.link != "" {
		if err := enable(file, m.link); err != nil {
			return fmt.Errorf("install the service: %w", err)
		}
	}
	fmt.Fprintln(dockerCLI.Out(), file)
	cli.Say(dockerCLI.Err(), "it starts at the next login; to start it now: %s", m.startCommand(file))
	if !watch.Supported {
		cli.Say(dockerCLI.Err(), "warning: sessions are not served on %s yet: there is nothing to resume", runtime.GOOS)
	}
	return nil
}

// enable creates the link that systemctl enable would create, because systemd may not run.
func enable(file, link string) error {
	link = filepath.Join(filepath.Dir(file), link)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(filepath.Join("..", filepath.Base(file)), link)
}

func uninstall(dockerCLI command.Cli, m serviceManager) error {
	file, installed, err := m.find()
	if err != nil {
		return err
	}
	if m.link != "" {
		link := filepath.Join(filepath.Dir(file), m.link)
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("uninstall the service: %w", err)
		}
	}
	if !installed {
		cli.Say(dockerCLI.Err(), "it is not installed: there is no %s", names.Escaped(file))
		return nil
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("uninstall the service: %w", err)
	}
	fmt.Fprintln(dockerCLI.Out(), file)
	cli.Say(dockerCLI.Err(), "if it runs, end it: %s", m.stopCommand(file))
	return nil
}

// find returns the path of the service's file, and whether it exists. A file that install has not written is an error.
func (m serviceManager) find() (file string, installed bool, err error) {
	if file, err = m.file(); err != nil {
		return "", false, err
	}
	b, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file, false, nil
	case err != nil:
		return file, false, fmt.Errorf("look at the service: %w", err)
	case !strings.Contains(string(b), m.mark):
		return file, true, cli.Hint(fmt.Errorf("%s was not written by docker hostexec service install, so it is not changed", file), "move it elsewhere")
	}
	return file, true, nil
}

// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Detach ends a session that attach started, and removes the files that attach copied into the container. If the
// container does not run, Detach returns an error and changes nothing, because nothing can be executed in it. If the
// container is gone, Detach removes the session.
func Detach(ctx context.Context, dockerCLI command.Cli, store *state.Store, ref string) error {
	s, err := sessions.Inspect(ctx, dockerCLI, store, ref)
	if err != nil {
		return err
	}
	name := s.ContainerName
	switch {
	case !s.Attached:
		return cli.Hint(fmt.Errorf("session %s was not made by docker hostexec attach", s.ID), "docker hostexec stop "+s.ID)
	case s.State == sessions.StateGone:
		return store.Remove(s.ID)
	case s.State == sessions.StateExited, s.State == sessions.StateKilled, s.State == sessions.StateWaiting:
		return cli.Hint(fmt.Errorf("container %s does not run, and nothing can be removed from it", name), "docker start "+name+" && docker hostexec detach "+name)
	}
	if err := sessions.StopWatcher(ctx, store.Dir(s.ID), s.ID, sessions.DefaultGrace); err != nil {
		return err
	}
	api, err := cli.Connect(dockerCLI.ConfigFile(), s.GlobalArgs)
	if err != nil {
		return err
	}
	defer api.Close()
	found, err := removeShims(ctx, api, s.Container, s.Session)
	var left *notRemovedError
	switch {
	case err != nil && !errors.As(err, &left):
		return err // the session's record stays for another try
	case err == nil && !found:
		cli.Say(dockerCLI.Err(), "container %s had no files of session %s any more", name, s.ID)
	}
	return errors.Join(err, store.Remove(s.ID))
}

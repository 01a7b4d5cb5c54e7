// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// The end of a session does not unmount anything. So a running container whose mounts show the state directory, or let
// it change a protected file, is killed before its session ends.

// exposedError means that a container mounts protected files.
type exposedError struct{ error }

func (e exposedError) Unwrap() error { return e.error }

// killTimeout is the time limit for an engine, which may be restarting, to kill a container.
const killTimeout = time.Minute

// killer kills containers of the session.
type killer struct {
	record *watch.Record
	calls  *watch.Calls
	log    *slog.Logger
	report sync.Once // at the terminal
}

// killExposed kills container c if why is an exposedError, and c runs or is about to run again. c also stays down after
// a restart of the engine. killExposed returns the reason for the end of the session. It works even if ctx is done.
func (k *killer) killExposed(ctx context.Context, api watch.Engine, c container.InspectResponse, why error) error {
	if !errors.As(why, new(exposedError)) || c.State == nil || !c.State.Running {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	name := nameOf(c)
	done, next := killAndDescribe(ctx, api, c, name)
	why = fmt.Errorf("container %s %s%s: %w", name, done, next, why)
	k.log.Error("the container mounts what is protected", "container", c.ID, "reason", why)
	k.audit(c.ID, why)
	k.record.Change(func(rec *state.Session) { rec.Killed = names.Plain(why.Error()) })
	if err := k.record.Save(); err != nil {
		k.log.Error("record that the container was killed", "error", err)
	}
	k.report.Do(func() {
		notify.Terminal(k.record.Session().Terminal).Say(fmt.Sprintf("hostexec: a mount of container %s showed a file that is protected: the container %s, and its session has ended\r\n"+
			"hostexec: hint: docker hostexec logs %s says why", names.Plain(name), done, k.record.ID))
	})
	return why
}

// killAndDescribe kills container c. It returns the result, and the next step for a person after a failure.
func killAndDescribe(ctx context.Context, api watch.Engine, c container.InspectResponse, name string) (done, next string) {
	switch policyErr, err := kill(ctx, api, c); {
	case err != nil:
		return "could not be killed", fmt.Sprintf(": %v: remove it with docker rm -f %s", err, name)
	case policyErr != nil:
		return "was killed", fmt.Sprintf(", but it may start again with the engine: %v: docker update --restart no %s prevents that", policyErr, name)
	}
	return "was killed", ""
}

// kill kills container c, and sets its restart policy to no: the policy always would start c again with the engine. err
// is nil when c has ended; policyErr is then the error of the change of the policy.
func kill(ctx context.Context, api watch.Engine, c container.InspectResponse) (policyErr, err error) {
	for {
		err := api.ContainerKill(ctx, c.ID, "KILL")
		if err != nil && !notRunning(err) && ctx.Err() != nil {
			return nil, err
		}
		policyErr = neverRestart(ctx, api, c)
		if ended(ctx, api, c.ID) {
			if notRunning(policyErr) {
				policyErr = nil
			}
			return policyErr, nil
		}
		if !watch.Pause(ctx, watch.Poll/4) {
			if err == nil || notRunning(err) {
				err = errors.New("it still runs")
			}
			return nil, err
		}
	}
}

// notRunning reports whether err means that a container does not run, or does not exist.
func notRunning(err error) bool { return errdefs.IsNotFound(err) || errdefs.IsConflict(err) }

// neverRestart sets the restart policy of container c to no. A container of --rm has no policy, and engines refuse to
// change it.
func neverRestart(ctx context.Context, api watch.Engine, c container.InspectResponse) error {
	if c.HostConfig == nil || c.HostConfig.RestartPolicy.IsNone() || c.HostConfig.AutoRemove {
		return nil
	}
	_, err := api.ContainerUpdate(ctx, c.ID, container.UpdateConfig{RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled}})
	return err
}

// ended reports whether container id has no process, and is not about to get one.
func ended(ctx context.Context, api watch.Engine, id string) bool {
	err := currentState(ctx, api, id)
	return errors.Is(err, watch.ErrExited) || errors.Is(err, watch.ErrGone)
}

// audit records that container id was ended.
func (k *killer) audit(id string, why error) {
	sc := k.calls.Server.Config()
	if sc == nil {
		return
	}
	rule := ""
	if over := (*limit.Error)(nil); errors.As(why, &over) {
		rule = over.Key()
	}
	entry := audit.Record{Kind: audit.Deny, Request: id[:min(len(id), 16)], Args: []string{"hostexec"}, Rule: rule, Reason: fmt.Sprintf("the container was ended: %v", why)}
	if err := sc.Audit.Write(entry); err != nil {
		k.log.Error("write the audit log", "error", err)
	}
}

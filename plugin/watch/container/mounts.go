// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"sync"

	"github.com/docker/docker/api/types/container"
	apimount "github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// mountTable returns the directories of the host that the container has, without hostexec's own mount. They come from
// the engine, never from the container. local means that the engine's directories are those of this host.
func mountTable(c container.InspectResponse, fallback mount.Default, local bool, more []mount.Point) (*mount.Table, error) {
	mounts := slices.Clone(more)
	for _, m := range c.Mounts {
		if m.Destination == "" && !local {
			continue
		}
		entry := mount.Point{Target: m.Destination, ReadOnly: !m.RW, NonRecursive: !recursive(c, m.Destination)} // no target: the source of a volume
		if local {
			entry.Source, entry.Bind = m.Source, m.Type == apimount.TypeBind && !names.Within(m.Destination, state.Target)
		}
		mounts = append(mounts, entry)
	}
	if c.HostConfig != nil {
		for target := range c.HostConfig.Tmpfs {
			mounts = append(mounts, mount.Point{Target: target})
		}
	}
	return mount.NewTable(mounts, fallback)
}

// mountCheck checks a container's mounts.
type mountCheck struct {
	record   *watch.Record
	config   *watch.Configuration
	sessions *watch.OtherSessions
	notifier notify.Notifier
	others   []mount.Point // paths that other containers of the service can write
}

// protected lists the files of this host that decide which code runs on it.
func (mc *mountCheck) protected() []watch.ProtectedFile {
	return watch.ProtectedFiles(mc.record, mc.config, mc.notifier)
}

// newMountCheck returns the check of a watcher of rec's session.
func newMountCheck(store *state.Store, rec state.Session) *mountCheck {
	log := slog.New(slog.DiscardHandler)
	record := watch.NewRecord(store, rec, log)
	config, sessions := watch.NewConfiguration(record, log), watch.NewOtherSessions(record)
	return &mountCheck{record: record, config: config, sessions: sessions, notifier: watch.NewNotifier(rec, config.Load().Notify, sessions, log)}
}

// Preflight checks the mounts of container c before its start as the watcher of rec's session does after it.
func Preflight(ctx context.Context, api watch.Engine, store *state.Store, rec state.Session, c container.InspectResponse) error {
	c.Mounts = slices.Clone(c.Mounts)
	if err := showHostFiles(ctx, api, &c); err != nil {
		return err
	}
	return newMountCheck(store, rec).refuse(c)
}

// refuse refuses a container that could change the decisions or the code of its calls. These are in the state
// directory, the configuration, and the programs of calls. For a running container it also checks the kernel's mount
// table.
func (mc *mountCheck) refuse(c container.InspectResponse) error {
	return mc.refuseMountsOf(c, mc.protected())
}

// refuseNew is refuse for a new container. Existing sessions have priority: the container may not write their programs,
// and their containers may not write programs of this session.
func (mc *mountCheck) refuseNew(c container.InspectResponse) error {
	own := mc.protected()
	theirs, err := mc.sessions.Programs()
	if err == nil {
		err = mc.refuseMountsOf(c, slices.Concat(own, theirs))
	}
	if err == nil {
		err = mc.sessions.CheckPrograms(own, mc.config.Environ)
	}
	return err
}

// refuseMountsOf refuses a container that could write a protected file, or that mounts the state directory, even
// read-only.
func (mc *mountCheck) refuseMountsOf(c container.InspectResponse, all []watch.ProtectedFile) error {
	if mc.record.Session().RemoteFiles {
		return nil // it mounts no files of this host
	}
	locate := sync.OnceValues(func() (*protectedFiles, error) { return locateFiles(all, mc.record.Dir) }) // few containers need it
	share, requests := state.ShareDir(mc.record.Dir), state.RequestsDir(mc.record.Dir)
	own := mc.record.OwnWorkspace()
	for _, m := range c.Mounts {
		if m.Type != apimount.TypeBind || m.Source == requests || own != "" && m.Source == own {
			continue
		}
		if m.Source == "" {
			return errUnclearVolume(m.Name)
		}
		source := mount.Resolved(m.Source)
		if m.Source == share || mc.record.Session().DevContainer != nil && source == share && path.Clean(m.Destination) == state.Target { // by its link
			if m.RW {
				return errOwnShare(m.Source)
			}
			continue
		}
		l, err := locate()
		if err != nil {
			return err
		}
		if err := l.refuseSource(m.Source, m.RW, recursive(c, m.Destination)); err != nil {
			return exposedError{err}
		}
	}
	if err := mc.refuseDependencies(c, all); err != nil {
		return err
	}
	return mc.runningMounts(c, locate)
}

func errUnclearVolume(name string) error {
	return fmt.Errorf("the directory of volume %s cannot be determined, because its options contain a backslash: mount something else", name)
}

func errOwnShare(source string) error {
	return exposedError{fmt.Errorf("the container could change its own share: mount %s read-only", source)}
}

// recursive reports whether the engine also mounts the mounts below the source of the mount at target. It does
// unless the mount has bind-recursive=disabled.
func recursive(c container.InspectResponse, target string) bool {
	if c.ContainerJSONBase == nil || c.HostConfig == nil {
		return true
	}
	return !slices.ContainsFunc(c.HostConfig.Mounts, func(m apimount.Mount) bool {
		return m.Target == target && m.BindOptions != nil && m.BindOptions.NonRecursive
	})
}

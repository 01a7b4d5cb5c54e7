// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// EngineArch returns the architecture of the engine itself, in Go's terms. It may differ from the kernel's: the default
// seccomp profile of a 32-bit engine refuses the system calls of 64-bit programs, even on a 64-bit kernel. The image's
// architecture does not matter: an emulated shim would be slower.
func EngineArch(ctx context.Context, api client.APIClient) (string, error) {
	v, err := api.ServerVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the engine what it runs on: %w", err)
	}
	if v.Os != "linux" {
		return "", fmt.Errorf("the engine runs %s containers: only linux is supported", v.Os)
	}
	return inject.Arch(v.Arch), nil
}

// startAsync starts f in the background. The returned function waits for f and returns its results.
func startAsync[T any](f func() (T, error)) func() (T, error) {
	wait := sync.OnceValues(f)
	// ends with f; the returned function waits for it
	go wait()
	return wait
}

// engineArch returns the architecture of the session's engine. If the only carrier is a socket, which works only within
// one kernel, it is that of this host. Otherwise engineArch asks each engine once. The watcher notices if another
// engine has taken its place.
func (l *Launch) engineArch(ctx context.Context, api client.APIClient) (string, error) {
	rec := &l.Plan.Record
	if !rec.Relay && rec.Carrier != carrier.ByFiles && slices.Contains(inject.Arches(), runtime.GOARCH) {
		return runtime.GOARCH, nil
	}
	known := l.Store.Engine(rec.Engine)
	if slices.Contains(inject.Arches(), known.Arch) {
		return known.Arch, nil
	}
	arch, err := EngineArch(ctx, api)
	if err != nil || rec.Engine == "" {
		return arch, err
	}
	// After an error, the next run asks again.
	if info, err := api.Info(ctx); err == nil && (known.ID == "" || known.ID == info.ID) {
		known.ID, known.Arch = info.ID, arch
		_ = l.Store.NoteEngine(rec.Engine, known)
	}
	return arch, nil
}

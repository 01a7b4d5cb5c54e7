// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

// The container's root may have removed, replaced or hidden the files that attach copied. So the removal executes none
// of them.
//
//	find the remaining files -> copy the shim into a new directory -> execute that copy once -> check again

// removalTimeout is the time limit for the removal.
const removalTimeout = 15 * time.Second

// notRemovedError is the reason why files stay in a container. The container causes it, so another try would fail
// too.
type notRemovedError struct{ why error }

func (e *notRemovedError) Error() string { return "remove the shims: " + e.why.Error() }
func (e *notRemovedError) Unwrap() error { return e.why }

// removeShims removes the files from container id that attach copied for rec's commands. found is false if there were
// none. The error is a notRemovedError if files stay.
func removeShims(ctx context.Context, api client.APIClient, id string, rec state.Session) (found bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, removalTimeout, errors.New("the process that removes them does not end"))
	defer cancel()
	names := rec.Linked()
	existing, err := remainingPaths(ctx, api, id, shimPaths(names), names)
	if err == nil && len(existing) == 0 {
		return false, nil
	}
	tempDir, messages := "/hostexec-leave-"+rec.ID, "" // the shim recognizes the directory by its name; each try uses the same name
	if err == nil {
		err = checkRemovable(ctx, api, id)
	}
	if err == nil {
		messages, err = runRemoval(ctx, api, id, tempDir, names)
	}
	var remaining []string
	if err == nil {
		remaining, err = remainingPaths(ctx, api, id, append(shimPaths(names), tempDir+"/bin/"+inject.Shim), names)
	}
	if err == nil && len(remaining) > 0 {
		err = fmt.Errorf("the container still has %s%s", strings.Join(remaining, ", "), messages)
	}
	hint := fmt.Sprintf("look at these files, and then: docker exec -u 0 %.12s rm -rf %s %s", id, inject.Target, tempDir)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return true, cli.Hint(&notRemovedError{context.Cause(ctx)}, hint)
	case errdefs.IsConflict(err):
		return true, cli.Hint(fmt.Errorf("remove the shims: %w", err), fmt.Sprintf("unpause or start the container, and then: docker hostexec detach %.12s", id))
	case errors.Is(err, watchcontainer.ErrNoProcess):
		return true, cli.Hint(fmt.Errorf("remove the shims: %w", err), fmt.Sprintf("have some of its processes end, and then: docker hostexec detach %.12s", id))
	case client.IsErrConnectionFailed(err):
		return true, fmt.Errorf("remove the shims: %w", err)
	}
	return true, cli.Hint(&notRemovedError{err}, hint)
}

// checkRemovable refuses a container in which users other than root could make the removal delete other files. The shim
// itself does not enter a directory that was replaced.
func checkRemovable(ctx context.Context, api client.APIClient, id string) error {
	err := watchcontainer.CheckShimOwner(ctx, api, id)
	var replaceable *watchcontainer.ReplaceableError
	if errors.As(err, &replaceable) && replaceable.NoDir && names.Within(replaceable.Path, inject.Target) {
		return nil
	}
	return err
}

// shimPaths returns the files that attach copies below its directory.
func shimPaths(names []string) []string {
	all := []string{inject.Target + "/carrier", inject.Target + "/relay/socket", inject.Bin + "/" + inject.Shim}
	for _, name := range names {
		all = append(all, inject.Bin+"/"+name)
	}
	return all
}

// remainingPaths returns the paths that exist in a container, and its links to the commands.
func remainingPaths(ctx context.Context, api client.APIClient, id string, paths, names []string) ([]string, error) {
	links := map[string]string{}
	for _, name := range append([]string{inject.Shim}, names...) {
		link := inject.LinkDir + "/" + name
		paths, links[link] = append(paths, link), inject.Bin+"/"+name
	}
	found := make([]container.PathStat, len(paths))
	errs := make([]error, len(paths))
	var wg sync.WaitGroup
	for i, p := range paths {
		// ends with its request; remainingPaths waits for it.
		wg.Go(func() { found[i], errs[i] = api.ContainerStatPath(ctx, id, p) })
	}
	wg.Wait()
	var existing []string
	for i, p := range paths {
		to, link := links[p]
		err := errs[i]
		switch {
		case err != nil && (ctx.Err() != nil || client.IsErrConnectionFailed(err)):
			return nil, fmt.Errorf("look at %s in the container: %w", p, err)
		case errdefs.IsNotFound(err):
		case err != nil && link: // a link to itself, or through a file
			existing = append(existing, p)
		case err != nil: // such a link above p
		case link && found[i].LinkTarget == to, !link && !found[i].Mode.IsDir():
			existing = append(existing, p)
		}
	}
	return existing, nil
}

// runRemoval copies the shim into tempDir and executes it. The shim removes the files that attach has copied, and then
// itself. runRemoval returns the shim's messages after a colon, in printable ASCII.
func runRemoval(ctx context.Context, api client.APIClient, id, tempDir string, names []string) (messages string, err error) {
	arch, err := EngineArch(ctx, api)
	if err != nil {
		return "", err
	}
	archive, err := inject.Archive(arch, nil, nil, tempDir[1:]+"/")
	if err != nil {
		return "", err
	}
	exec, err := api.ContainerExecCreate(ctx, id, container.ExecOptions{
		User: "0", WorkingDir: "/", AttachStdout: true, AttachStderr: true,
		Cmd: append([]string{tempDir + "/bin/" + inject.Shim, "relay", inject.Target, "leave", inject.LinkDir}, names...),
	})
	if err != nil {
		return "", err
	}
	if err := api.CopyToContainer(ctx, id, "/", archive, container.CopyToContainerOptions{}); err != nil {
		return "", fmt.Errorf("copy the shim: %w", err)
	}
	at, err := callcontainer.Attach(ctx, func(ctx context.Context) (types.HijackedResponse, error) {
		return api.ContainerExecAttach(ctx, exec.ID, container.ExecAttachOptions{})
	})
	if err != nil {
		return "", err
	}
	defer at.Close()
	defer context.AfterFunc(ctx, at.Close)()
	var out bytes.Buffer
	if _, err = stdcopy.StdCopy(io.Discard, &out, io.LimitReader(at.Reader, 4096)); err != nil {
		return "", err
	}
	st, err := api.ContainerExecInspect(ctx, exec.ID)
	switch {
	case err != nil:
		return "", err
	case !st.Running && st.ExitCode != 0 && (st.ExitCode != cli.CodeRun || bytes.Contains(out.Bytes(), []byte(inject.NoThread))): // the code is the engine's or the shim's
		return "", watchcontainer.ErrNoProcess
	case out.Len() > 0:
		messages = fmt.Sprintf(": %+q", bytes.TrimSpace(out.Bytes()))
	}
	return messages, nil
}

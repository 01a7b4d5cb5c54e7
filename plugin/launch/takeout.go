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

	"github.com/docker-hostexec/hostexec/plugin/cli"
	callcontainer "github.com/docker-hostexec/hostexec/plugin/container"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/state"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

// What attach has put into a container is the container's since: its root may have removed,
// replaced or hidden any of it. So nothing of it is executed to remove the rest.
//
//	look what is left  ->  a new copy of the shim, in a directory of its own  ->  executed once  ->  look again

// takingOut is how long a container may take over it.
const takingOut = 15 * time.Second

// leftError says what of attach stays in a container, by the container's own doing: another try
// would do no better.
type leftError struct{ why error }

func (e *leftError) Error() string { return "remove the shims: " + e.why.Error() }
func (e *leftError) Unwrap() error { return e.why }

// takeOut removes from container id what attach has put there for rec's commands. It reports
// whether anything was left to remove. The error is a leftError if something stays.
func takeOut(ctx context.Context, api client.APIClient, id string, rec state.Session) (found bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, takingOut, errors.New("what removes them does not end in the container"))
	defer cancel()
	names := rec.Linked()
	there, err := remains(ctx, api, id, placed(names), names)
	if err == nil && len(there) == 0 {
		return false, nil
	}
	own, said := "/hostexec-leave-"+rec.ID, "" // by which the shim knows it; the same one in another try
	if err == nil {
		err = passable(ctx, api, id)
	}
	if err == nil {
		said, err = leave(ctx, api, id, own, names)
	}
	var left []string
	if err == nil {
		left, err = remains(ctx, api, id, append(placed(names), own+"/bin/"+inject.Shim), names)
	}
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the container still has %s%s", strings.Join(left, ", "), said)
	}
	byHand := fmt.Sprintf("look at what is there, and then: docker exec -u 0 %.12s rm -rf %s %s", id, inject.Target, own)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return true, cli.Hint(&leftError{context.Cause(ctx)}, byHand)
	case errdefs.IsConflict(err):
		return true, cli.Hint(fmt.Errorf("remove the shims: %w", err), fmt.Sprintf("have the container run, docker unpause or start, and then: docker hostexec detach %.12s", id))
	case errors.Is(err, errNoExec):
		return true, cli.Hint(fmt.Errorf("remove the shims: %w", err), fmt.Sprintf("have some of its processes end, and then: docker hostexec detach %.12s", id))
	case client.IsErrConnectionFailed(err):
		return true, fmt.Errorf("remove the shims: %w", err)
	}
	return true, cli.Hint(&leftError{err}, byHand)
}

// passable refuses a container in which others than root could have root remove something else.
// Where something is no directory of ours any more the shim sees that itself, and goes into none.
func passable(ctx context.Context, api client.APIClient, id string) error {
	err := watchcontainer.RootsAlone(ctx, api, id)
	var replaceable *watchcontainer.ReplaceableError
	if errors.As(err, &replaceable) && replaceable.NoDir && inject.Within(replaceable.Path, inject.Target) {
		return nil
	}
	return err
}

// errNoExec says that no process can be started in a container.
var errNoExec = errors.New("no process can be started in the container: has it reached its limit, --pids-limit?")

// placed are the files that attach puts below its directory.
func placed(names []string) []string {
	all := []string{inject.Target + "/carrier", inject.Target + "/relay/socket", inject.Bin + "/" + inject.Shim}
	for _, name := range names {
		all = append(all, inject.Bin+"/"+name)
	}
	return all
}

// remains returns those of paths that a container has, and its links to commands of those names.
func remains(ctx context.Context, api client.APIClient, id string, paths, names []string) ([]string, error) {
	links := map[string]string{}
	for _, name := range append([]string{inject.Shim}, names...) {
		link := inject.LinkDir + "/" + name
		paths, links[link] = append(paths, link), inject.Bin+"/"+name
	}
	found := make([]container.PathStat, len(paths))
	errs := make([]error, len(paths))
	var wg sync.WaitGroup
	for i, p := range paths {
		// ends with its request; remains waits for it.
		wg.Go(func() { found[i], errs[i] = api.ContainerStatPath(ctx, id, p) })
	}
	wg.Wait()
	var there []string
	for i, p := range paths {
		to, link := links[p]
		err := errs[i]
		switch {
		case err != nil && (ctx.Err() != nil || client.IsErrConnectionFailed(err)):
			return nil, fmt.Errorf("look at %s in the container: %w", p, err)
		case errdefs.IsNotFound(err):
		case err != nil && link: // it leads in a circle, or through a file
			there = append(there, p)
		case err != nil: // so does what is above it
		case link && found[i].LinkTarget == to, !link && !found[i].Mode.IsDir():
			there = append(there, p)
		}
	}
	return there, nil
}

// leave has a new copy of the shim, in the directory own, remove what attach has put there, and
// itself. It returns what that says, behind a colon, in printable ASCII.
func leave(ctx context.Context, api client.APIClient, id, own string, names []string) (said string, err error) {
	arch, err := EngineArch(ctx, api)
	if err != nil {
		return "", err
	}
	archive, err := inject.Archive(arch, nil, nil, own[1:]+"/")
	if err != nil {
		return "", err
	}
	exec, err := api.ContainerExecCreate(ctx, id, container.ExecOptions{
		User: "0", WorkingDir: "/", AttachStdout: true, AttachStderr: true,
		Cmd: append([]string{own + "/bin/" + inject.Shim, "relay", inject.Target, "leave", inject.LinkDir}, names...),
	})
	if err != nil {
		return "", err
	}
	if err := api.CopyToContainer(ctx, id, "/", archive, container.CopyToContainerOptions{}); err != nil {
		return "", fmt.Errorf("copy what removes them: %w", err)
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
	case !st.Running && st.ExitCode != 0 && (st.ExitCode != cli.CodeRun || bytes.Contains(out.Bytes(), []byte(inject.NoThread))): // the engine's, or the shim's
		return "", errNoExec
	case out.Len() > 0:
		said = fmt.Sprintf(": %+q", bytes.TrimSpace(out.Bytes()))
	}
	return said, nil
}

// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"fmt"
	"path"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

// shimThreads is the minimum number of threads of a shim. The kernel counts each as a process.
const shimThreads = 4

// checkPidsLeft refuses a container whose --pids-limit prevents a shim from starting. detach, too, needs a shim, to
// remove the copied files. A container without a limit needs no request.
func checkPidsLeft(ctx context.Context, api client.APIClient, c container.InspectResponse) error {
	if c.HostConfig == nil || c.HostConfig.PidsLimit == nil || *c.HostConfig.PidsLimit <= 0 {
		return nil
	}
	now, _, err := watchcontainer.CountPids(ctx, api, c.ID)
	if err != nil {
		return err
	}
	limit := uint64(*c.HostConfig.PidsLimit)
	if now == 0 || now+shimThreads <= limit { // 0: the engine does not count them
		return nil
	}
	name := path.Base(c.Name)
	return cli.Hint(fmt.Errorf("container %s: %w (%d of %d are in use, and a call needs %d)", name, watchcontainer.ErrNoProcess, now, limit, shimThreads),
		fmt.Sprintf("have some of its processes end, or: docker update --pids-limit %d %s", now+100, name))
}

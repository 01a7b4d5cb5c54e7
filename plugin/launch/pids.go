// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

const (
	// shimThreads is the minimum number of threads of a shim. The kernel counts each as a process.
	shimThreads = 4
	// maxStats is the maximum length of the engine's statistics of a container.
	maxStats = 1 << 20
)

// checkPidsLeft refuses a container whose --pids-limit prevents a shim from starting. detach, too, needs a shim, to
// remove the copied files. A container without a limit needs no request.
func checkPidsLeft(ctx context.Context, api client.APIClient, c container.InspectResponse) error {
	if c.HostConfig == nil || c.HostConfig.PidsLimit == nil || *c.HostConfig.PidsLimit <= 0 {
		return nil
	}
	now, err := countPids(ctx, api, c.ID)
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

// countPids returns the number of processes and threads of container id, or 0 if the engine does not know it.
func countPids(ctx context.Context, api client.APIClient, id string) (uint64, error) {
	r, err := api.ContainerStatsOneShot(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("count the container's processes: %w", err)
	}
	defer r.Body.Close()
	var stats container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(r.Body, maxStats)).Decode(&stats); err != nil {
		return 0, fmt.Errorf("count the container's processes: %w", err)
	}
	return stats.PidsStats.Current, nil
}

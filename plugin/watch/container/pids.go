// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// ErrNoProcess means that the container cannot start a process.
var ErrNoProcess = errors.New("no process can be started in the container: has it reached its limit, --pids-limit?")

const (
	// relayPids is the number of processes and threads that the start of a relay takes, with the engine's own.
	relayPids = 10
	// maxStats is the maximum length of the engine's statistics of a container.
	maxStats = 1 << 20
)

// CountPids returns the number of processes and threads of container id, and the limit of that number. Both are 0 if
// the engine does not know them.
func CountPids(ctx context.Context, api watch.Engine, id string) (now, limit uint64, err error) {
	r, err := api.ContainerStatsOneShot(ctx, id)
	if err != nil {
		return 0, 0, fmt.Errorf("count the container's processes: %w", err)
	}
	defer r.Body.Close()
	var stats container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(r.Body, maxStats)).Decode(&stats); err != nil {
		return 0, 0, fmt.Errorf("count the container's processes: %w", err)
	}
	return stats.PidsStats.Current, stats.PidsStats.Limit, nil
}

// noPidsLeft reports whether the limit of container id leaves no room for a relay.
func noPidsLeft(ctx context.Context, api watch.Engine, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, arrivalTimeout)
	defer cancel()
	now, limit, err := CountPids(ctx, api, id)
	return err == nil && limit > 0 && relayPids > limit-min(now, limit)
}

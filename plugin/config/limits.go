// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// Limits bound the host resources of one session; 0 means the program's default.
type Limits struct {
	limit.Limits
	Refusals int64 // refusals per second that are recorded individually
}

func (d *document) readLimits(n *yaml.Node) {
	l := &d.limits
	d.fields(n, "limits", map[string]func(*yaml.Node){
		"calls":     scalar(d.reader, "calls", &l.Limits[limit.Calls], parsePositiveCount),
		"processes": scalar(d.reader, "processes", &l.Limits[limit.Processes], parsePositiveCount),
		"argv":      scalar(d.reader, "argv", &l.Limits[limit.Argv], parsePositiveSize),
		"spool":     scalar(d.reader, "spool", &l.Limits[limit.Spool], parsePositiveSize),
		"requests":  scalar(d.reader, "requests", &l.Limits[limit.Requests], parsePositiveCount),
		"refusals":  scalar(d.reader, "refusals", &l.Refusals, parsePositiveCount),
	})
}

// maxAmount is larger than any count on a real host.
const maxAmount = 1 << 22

func parsePositiveCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || n < 0 || n > maxAmount:
		return 0, fmt.Errorf("%s is not a number from 1 to %d", names.Quoted(s), maxAmount)
	case n == 0:
		return 0, fmt.Errorf("0 does not mean unlimited: write a number from 1 to %d", maxAmount)
	}
	return n, nil
}

// over returns l, with unset limits taken from below.
func (l Limits) over(below Limits) Limits {
	for k := range l.Limits {
		l.Limits[k] = cmp.Or(l.Limits[k], below.Limits[k])
	}
	l.Refusals = cmp.Or(l.Refusals, below.Refusals)
	return l
}

// Never means that a log is never rotated, or never removed.
const Never = -1

// parseRotate parses the size at which a log is rotated; off or 0 means never.
func parseRotate(s string) (int64, error) {
	if s == "off" {
		return Never, nil
	}
	n, err := size(s)
	return cmp.Or(n, Never), err
}

// parseKeep parses the number of rotated logs that are kept; 0 or all means all.
func parseKeep(s string) (int, error) {
	if s == "all" {
		return Never, nil
	}
	n, err := count(s)
	return cmp.Or(n, Never), err
}

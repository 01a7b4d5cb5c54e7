// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package gitpush

import "time"

func setLimits(int, time.Duration) error { return nil }

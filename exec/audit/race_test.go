// SPDX-License-Identifier: Apache-2.0

//go:build race

package audit

// The race detector makes the start of a process ten times slower.
const kills = 500

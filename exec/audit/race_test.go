// SPDX-License-Identifier: Apache-2.0

//go:build race

package audit

// A process takes ten times as long to start with the race detector in it.
const kills = 500

// SPDX-License-Identifier: Apache-2.0

//go:build race

package shell

// Every command takes longer with the race detector.
const shells, commands = 20, 10

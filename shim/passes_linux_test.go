// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package shim

// Pipes and sockets are passed, and the shim can die of any signal.
const passes = true

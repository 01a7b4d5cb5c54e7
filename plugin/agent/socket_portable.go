// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package agent

// MaxSocket is how long the path of a unix socket may be: sun_path holds one byte more (unix(4)). Linux has four more.
const MaxSocket = 103

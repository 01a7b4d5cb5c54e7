// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package agent

// MaxSocket is how long the path of a unix socket may be: sun_path holds one byte more (unix(7)).
const MaxSocket = 107

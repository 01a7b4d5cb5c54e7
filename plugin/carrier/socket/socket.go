// SPDX-License-Identifier: Apache-2.0

// Package socket is the carrier for containers that share a kernel with the host: a unix socket in the session's share,
// which is bind-mounted read-only. Callers with any user id can connect, and pass descriptors with their first bytes.
package socket

// Name is the name of the socket in a session's share: the shim dials it.
const Name = "socket"

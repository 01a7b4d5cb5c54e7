// SPDX-License-Identifier: Apache-2.0

package executor

// inQueue asks how many bytes are there to be read (FIONREAD of sys/filio.h).
const inQueue = 0x4004667f

// SPDX-License-Identifier: Apache-2.0

// Package dirtest is for tests of code that opens directories: it runs a test again in a process with mounts
// of its own, or on a kernel without openat2(2), and exchanges files while a test opens them.
package dirtest

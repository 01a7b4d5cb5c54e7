// SPDX-License-Identifier: Apache-2.0

// Package dirtest is for tests of code that opens directories. It runs a test again in a process with mounts of its
// own, or without openat2(2). It also exchanges files while a test opens them.
package dirtest

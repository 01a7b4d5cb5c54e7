// SPDX-License-Identifier: Apache-2.0

//go:build race

package policy

// histories is the number of learnt policies. The race detector takes ten times as long, and finds no race in them.
const histories = 100

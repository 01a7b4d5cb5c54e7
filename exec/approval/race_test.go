// SPDX-License-Identifier: Apache-2.0

//go:build race

package approval

// variations is the number of questions with a variable argument. The race detector takes ten times as long, and finds no
// race in them.
const variations = 5000

// SPDX-License-Identifier: Apache-2.0

//go:build race

package exectest

const race = true

// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shell

const shells, commands = 100, 100

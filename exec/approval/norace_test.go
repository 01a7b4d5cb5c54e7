// SPDX-License-Identifier: Apache-2.0

//go:build !race

package approval

const variations = 20_000

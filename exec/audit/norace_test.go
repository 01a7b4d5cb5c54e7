// SPDX-License-Identifier: Apache-2.0

//go:build !race

package audit

const kills = 2000

// SPDX-License-Identifier: Apache-2.0

//go:build !race

package policy

const histories = 400

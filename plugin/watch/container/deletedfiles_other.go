// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package container

func deletedFiles(int) measured { return measured{empty: true} } // the engine's processes are in a machine of their own

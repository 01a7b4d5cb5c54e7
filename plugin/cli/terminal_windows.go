// SPDX-License-Identifier: Apache-2.0

package cli

func ignoreSuspension() (undo func()) { return func() {} }

func foreground() bool { return true }

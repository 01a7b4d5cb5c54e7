// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proctree

import (
	"syscall"
	"time"
)

type stem struct{}

func lookAt(_ int, id string) Stem                { return Stem{id: id} }
func (Stem) alive() bool                          { return false }
func (Stem) interrupt(string)                     {}
func (Stem) hangUp()                              {}
func (Stem) signal(syscall.Signal)                {}
func (Stem) prune(string, time.Duration) error    { return errSystem }
func (Stem) cut(int, string, time.Duration) error { return errSystem }

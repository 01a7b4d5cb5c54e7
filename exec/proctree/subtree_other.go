// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proctree

import (
	"syscall"
	"time"
)

type subtree struct{}

func newSubtree(_ int, id string) Subtree                   { return Subtree{id: id} }
func (Subtree) alive() bool                                 { return false }
func (Subtree) interrupt(string, syscall.Signal)            {}
func (Subtree) resume()                                     {}
func (Subtree) hangUp()                                     {}
func (Subtree) endNew(string, time.Duration) error          { return errSystem }
func (Subtree) endSubtree(int, string, time.Duration) error { return errSystem }

// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package proctree

import (
	"fmt"
	"os"
	"time"
)

func (Keeper) keep([]string, []string, []*os.File) int { return refuse() }
func monitor([]string) int                             { return refuse() }
func becomeSubreaper() error                           { return errSystem }
func defaultSignals()                                  {}
func treeOf(string) []int                              { return nil }
func allLeft() []Left                                  { return nil }
func lingers(string) bool                              { return false }
func endLeft(string, time.Duration) (bool, error)      { return false, errSystem }
func endLost([]string, time.Duration) (bool, error)    { return false, nil } // no session was ever served

func refuse() int {
	fmt.Fprintln(os.Stderr, "hostexec:", errSystem)
	return 125
}

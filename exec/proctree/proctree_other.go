// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proctree

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

var errSystem = errors.New("keeping process trees is not supported on " + runtime.GOOS)

func (Keeper) keep([]string, []string, []*os.File) int        { return refuse() }
func runHelper([]string) int                                  { return refuse() }
func becomeSubreaper() error                                  { return errSystem }
func defaultSignals()                                         {}
func treeOf(string) []int                                     { return nil }
func allLeftovers() []Leftover                                { return nil }
func sizes() []Size                                           { return nil }
func endNow(string) error                                     { return errSystem }
func endClaimed(string) error                                 { return errSystem }
func hasLeftovers(string) bool                                { return false }
func scanProcesses() *ProcessScan                             { return &ProcessScan{} }
func endLeftovers(string, time.Duration) (bool, error)        { return false, errSystem }
func endSessionProcesses(string, time.Duration) (bool, error) { return false, nil } // no session was ever served

func refuse() int {
	fmt.Fprintln(os.Stderr, "hostexec:", errSystem)
	return 125
}

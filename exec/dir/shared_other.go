// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package dir

import (
	"os"
	"time"
)

func makeBelow(*Base, string, Access) (int, []Step, error)          { return -1, nil, errSystem }
func sharedKey(int) (string, error)                                 { return "", errSystem }
func openedBy(int, int) bool                                        { return false }
func realOf(int) (string, error)                                    { return "", errSystem }
func named(int, string, int) bool                                   { return true }
func sharedModTime(int) (time.Time, error)                          { return time.Time{}, errSystem }
func (b *SharedDir) list() (*os.File, error)                        { return nil, errSystem }
func (b *SharedDir) stat(string) (Entry, error)                     { return Entry{}, errSystem }
func (b *SharedDir) open(string) (*os.File, Entry, error)           { return nil, Entry{}, errSystem }
func (b *SharedDir) append(string) (*os.File, Entry, error)         { return nil, Entry{}, errSystem }
func (b *SharedDir) create(string, []byte, Entry) (*os.File, error) { return nil, errSystem }
func (b *SharedDir) reserve(int64) (*os.File, error)                { return nil, errSystem }
func (b *SharedDir) rename(string, string) error                    { return errSystem }
func (b *SharedDir) remove(string) error                            { return errSystem }
func setTime(*os.File, time.Time) error                             { return errSystem }
func unnamed(*os.File) bool                                         { return false }
func (b *SharedDir) wakeup(string) *Wakeup                          { return nil }
func notify(int)                                                    {}
func noReader(int) bool                                             { return false }

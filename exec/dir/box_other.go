// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package dir

import (
	"os"
	"time"
)

func makeBelow(*Base, string, Access) (int, []Step, error)    { return -1, nil, errSystem }
func boxKey(int) (string, error)                              { return "", errSystem }
func boxHeldBy(int, int) bool                                 { return false }
func realOf(int) (string, error)                              { return "", errSystem }
func named(int, string, int) bool                             { return true }
func boxMod(int) (time.Time, error)                           { return time.Time{}, errSystem }
func (b *Box) list() (*os.File, error)                        { return nil, errSystem }
func (b *Box) stat(string) (Entry, error)                     { return Entry{}, errSystem }
func (b *Box) open(string) (*os.File, Entry, error)           { return nil, Entry{}, errSystem }
func (b *Box) append(string) (*os.File, Entry, error)         { return nil, Entry{}, errSystem }
func (b *Box) create(string, []byte, Entry) (*os.File, error) { return nil, errSystem }
func (b *Box) rename(string, string) error                    { return errSystem }
func (b *Box) remove(string) error                            { return errSystem }
func setTime(*os.File, time.Time) error                       { return errSystem }
func unnamed(*os.File) bool                                   { return false }
func (b *Box) bell(string) *Bell                              { return nil }
func ring(int)                                                {}
func deserted(int) bool                                       { return false }

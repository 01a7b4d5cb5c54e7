// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package dir

import (
	"os"
	"time"
)

func makeBelow(string, string) (int, error)                   { return -1, errSystem }
func boxKey(int) (string, error)                              { return "", errSystem }
func boxHeldBy(int, int) bool                                 { return false }
func boxMod(int) (time.Time, error)                           { return time.Time{}, errSystem }
func (b *Box) list() (*os.File, error)                        { return nil, errSystem }
func (b *Box) stat(string) (Entry, error)                     { return Entry{}, errSystem }
func (b *Box) open(string) (*os.File, Entry, error)           { return nil, Entry{}, errSystem }
func (b *Box) create(string, []byte, Entry) (*os.File, error) { return nil, errSystem }
func (b *Box) rename(string, string) error                    { return errSystem }
func (b *Box) remove(string) error                            { return errSystem }
func unnamed(*os.File) bool                                   { return false }
func (b *Box) bell(string) *Bell                              { return nil }
func ring(int)                                                {}
func deserted(int) bool                                       { return false }

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package dir

import (
	"os"
	"time"
)

func makeBelow(*Base, string, Access) (int, []Step, error)      { return -1, nil, errSystem }
func dirKey(int) (string, error)                                { return "", errSystem }
func openedBy(int, int) bool                                    { return false }
func pathOf(int) (string, error)                                { return "", errSystem }
func inPlace(int, string, int) bool                             { return true }
func dirModTime(int) (time.Time, error)                         { return time.Time{}, errSystem }
func (d *UntrustedDir) list() (*os.File, error)                 { return nil, errSystem }
func (d *UntrustedDir) stat(string) (Entry, error)              { return Entry{}, errSystem }
func (d *UntrustedDir) open(string) (*os.File, Entry, error)    { return nil, Entry{}, errSystem }
func (d *UntrustedDir) append(string) (*os.File, Entry, error)  { return nil, Entry{}, errSystem }
func (d *UntrustedDir) read(string, int) ([]byte, Entry, error) { return nil, Entry{}, errSystem }
func (d *UntrustedDir) create(string, Entry) (*os.File, error)  { return nil, errSystem }
func (d *UntrustedDir) write(string, []byte, Entry) error       { return errSystem }
func (d *UntrustedDir) reserve(int64) (*os.File, error)         { return nil, errSystem }
func (d *UntrustedDir) rename(string, string) error             { return errSystem }
func (d *UntrustedDir) remove(string) error                     { return errSystem }
func setTime(*os.File, time.Time) error                         { return errSystem }
func removed(*os.File) bool                                     { return false }
func (d *UntrustedDir) wakeup(string) *Wakeup                   { return nil }
func notify(int)                                                {}
func noReader(int) bool                                         { return false }

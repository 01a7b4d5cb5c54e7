// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package files

import "errors"

// notifier is not supported: there are no calls by files.
type notifier struct {
	Events chan event
	Errors chan error
}

type event struct {
	p    *servedDir
	name string
}

func newNotifier([]*servedDir) (*notifier, error) {
	return nil, errors.New("calls by files are not supported on this system")
}

func (*notifier) exchange(*servedDir, *servedDir) error { return nil }

func (*notifier) Close() error { return nil }

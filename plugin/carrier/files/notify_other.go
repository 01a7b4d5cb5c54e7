// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package files

import "errors"

// notifier is not needed here: there are no calls by files.
type notifier struct {
	Events chan event
	Errors chan error
}

type event struct {
	p    *requestDir
	name string
}

func newNotifier([]*requestDir) (*notifier, error) {
	return nil, errors.New("calls by files are not supported on this system")
}

func (*notifier) exchange(*requestDir, *requestDir) error { return nil }

func (*notifier) Close() error { return nil }

// SPDX-License-Identifier: Apache-2.0

//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"fmt"
	"runtime"
)

// Sandbox is a prepared Spec. There is none on this system.
type Sandbox struct{}

// Supported returns an error that wraps ErrUnsupported.
func Supported() error {
	return fmt.Errorf("%w: not supported on %s/%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}

// Prepare fails.
func Prepare(Spec) (*Sandbox, error) { return nil, Supported() }

// Close does nothing.
func (s *Sandbox) Close() error { return nil }

// Confine fails.
func (s *Sandbox) Confine() (*MetadataServer, error) { return nil, Supported() }

// PermitTerminal fails.
func (s *Sandbox) PermitTerminal(int) error { return Supported() }

// MetadataServer has nothing to do on this system.
type MetadataServer struct{}

// Serve fails.
func (m *MetadataServer) Serve() error { return Supported() }

// Ended reports true.
func (m *MetadataServer) Ended() bool { return true }

// Close does nothing.
func (m *MetadataServer) Close() error { return nil }

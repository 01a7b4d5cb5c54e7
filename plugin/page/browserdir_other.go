// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package page

import "github.com/docker-hostexec/hostexec/plugin/state"

// browserDir returns the directory for the files that open the page.
func browserDir(s *state.Store) string { return s.Home }

func staleFiles() []string { return nil }

// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole product: the real plugin, the real engine, real containers.
//
// Its invariant: a test checks only results that a user can see. Tests of attacks also use the frames of shim/wire.
// Tests that need an engine have names that begin with TestIntegration, TestBench or TestSoak, and fail without one. No
// test mocks this project's code, or waits by sleeping. Each run ends everything that it has started. Helpers of the
// tests:
//
//	harness_test.go    Host: a person at a host, with docker and the plugin
//	container_test.go  Container: a session's container
//	call_test.go       Call: a program that runs in a container
//	browser_test.go    Tab: a browser that a person uses
//	users_test.go      root and the ordinary user, with a container that tests share
//	term_test.go       Term: a terminal on which a person types
//	image_test.go      images made of this machine's own programs, without a registry
//	procs_test.go      finds processes, and waits for their end
//	cleanup_test.go    removes everything that a run has made
//	probe/             the static program that tests run on both sides
//
// If root runs the tests, they test root and an ordinary user of the docker group. If another user runs them, they test
// that user only, and tests that need root, such as those that mount a file system, fail.
package e2e

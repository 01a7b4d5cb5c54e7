// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole product: the real plugin, the real engine, real containers.
//
// Its one law: a test says what a user would see, and has no knowledge of the inside but
// the wire's frames, for the attacks. What needs an engine is named TestIntegration and
// fails without one. Nothing here is mocked, nothing waits by sleeping, and whatever a
// run starts it ends.
//
//	harness_test.go    Host: a person at a host, with docker and the plugin
//	container_test.go  Container: a session's container
//	call_test.go       Call: a program running in one
//	browser_test.go    Tab: a browser with somebody in front of it
//	users_test.go      root and the ordinary user, with a container that tests share
//	term_test.go       Term: a terminal with somebody typing
//	image_test.go      images made of this machine's own programs, without a registry
//	procs_test.go      which processes there are, and waiting for their end
//	cleanup_test.go    the end: nothing of a run stays
//	probe/             the static program that tests run on both sides
//
// Run as root the tests speak for root and for an ordinary user of the docker group; run
// as somebody else, for that user only.
package e2e

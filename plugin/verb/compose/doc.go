// SPDX-License-Identifier: Apache-2.0

// Package compose has the verb compose, the provider for services of docker compose, and the verb devcontainer.
//
// It knows what docker compose reads and says: its command line, which files
// it would take, the model that it makes of them, and what a session adds to that.
//
//	ARGS -> Args --Files--> the person's files     compose config -> Model --Choose--> services
//	                                                                              |
//	                              compose -f files -f the session's own  <-- Override
//
// Its one law: what a person asks of compose reaches it unchanged; what is added is the same
// as long as nothing has changed, or compose would make its containers anew.
package compose

// Key is what compose files choose services with.
const Key = "x-hostexec"

// Provider is the type of a provider that is hostexec.
const Provider = "hostexec"

// SPDX-License-Identifier: Apache-2.0

// Package control is how the host's commands talk to a session's watcher: HTTP on a
// socket in the session's private folder.
//
//	GET  /session        what the session is doing
//	GET  /sessions       the same and what it is, as the page lists sessions
//	GET  /audit          how its last requests ended
//	GET  /pending        the requests that wait for a person
//	GET  /pending/{id}   one of them, whole: lists have the beginning of long texts
//	GET  /calls/{id}     a call that runs, whole
//	GET  /events         the same, whenever it changes (SSE); who listens can be asked
//	POST /approve/{id}   let one run, as it was shown, once or on terms
//	POST /deny/{id}      refuse it
//	GET  /grants         the approvals that hold on
//	GET  /grants/{id}    one of them, whole
//	DELETE /grants/{id}  revoke one
//	POST /kill/{id}      end the command that runs for a request, its whole tree, or what is left
//	GET  /left           what commands that have ended left running
//	GET  /left/{id}      the same of one command, whole
//	GET  /shells         the shells with state
//	PUT, DELETE, POST /shells/{name}  make one, end one, run a command in one
//	GET  /jobs           the jobs, those that have ended too
//	GET  /jobs/{id}      one of them, whole
//	POST /jobs/{id}/signal  end one, or send it a signal
//	POST /stop           end the watcher and every command it runs
//
// Its one law: whoever requests never approves. A container reaches another socket,
// served by other code, with no verb in common; and this one answers only processes of
// the user who started the session.
package control

import (
	"time"

	"github.com/docker-hostexec/hostexec/exec/shell"
)

// API is the version of what is spoken here. A client of another one is told so.
const API = 1

// Status is what a session is doing.
type Status struct {
	API     int    `json:"api"`
	Version string `json:"version"` // of the watcher
	State   string `json:"state"`   // running, waiting or keeping
	Carrier string `json:"carrier"` // how calls come: socket or relay; undecided while that is not known

	CarrierWhy string `json:"carrier_why"` // how that is known, in words

	Since   time.Time `json:"since"` // when the watcher started
	Calls   int       `json:"calls"` // commands started so far
	Running []Running `json:"running"`
	PID     int       `json:"pid"` // the watcher's

	Shells []shell.Info `json:"shells,omitempty"` // those with state

	Warnings []string `json:"warnings,omitempty"` // what makes the session dangerous, in printable ASCII
}

// Running is a call whose command runs.
type Running struct {
	Request string    `json:"request"`
	Args    []string  `json:"args"`
	Dir     string    `json:"dir"` // on the host
	PID     int       `json:"pid"` // on the host
	Since   time.Time `json:"since"`
	Cut     *Cut      `json:"cut,omitempty"` // in a list: this is the beginning of the texts
}

// The states of a session that has a watcher.
const (
	StateRunning = "running"
	StateWaiting = "waiting" // for the container, which is down for the moment
	StateKeeping = "keeping" // jobs, for the container is over
)

// SPDX-License-Identifier: Apache-2.0

// Package control connects the verbs of docker hostexec, and the page, with a session's watcher. The protocol is HTTP
// on a socket in the session's private directory.
//
//	GET  /session        state of the session
//	GET  /sessions       a list with this session only, in the form of the page's list
//	GET  /agents         what an agent should know about the policy, in Markdown
//	GET  /audit          the last requests and their results
//	GET  /pending        the waiting questions, each with its requests
//	GET  /pending/{id}   one of them with complete texts; lists cut long texts
//	GET  /calls/{id}     one running call with complete texts
//	GET  /events         the waiting questions after each change (SSE); the client counts as an approver
//	POST /approve/{id}   approve a question as it was shown, once or on terms
//	POST /deny/{id}      deny a question, once or for this session
//	GET  /grants         the grants in effect
//	GET  /grants/{id}    one of them with complete texts
//	DELETE /grants/{id}  revoke a grant
//	GET /denials         the denials that hold for this session
//	GET /denials/{id}    one of them with complete texts
//	DELETE /denials/{id} revoke a denial
//	POST /kill/{id}      end the process tree of a request's command, or its leftover processes
//	GET  /left           the leftover processes of commands that have ended
//	GET  /left/{id}      those of one command with complete texts
//	GET  /shells         the shells with state
//	PUT, DELETE, POST /shells/{name}  create a shell, end it, run a text (bash code) in it
//	POST /texts/{id}/signal  end such a text, whose caller got a signal
//	GET  /jobs           the jobs, running and ended
//	GET  /jobs/{id}      one of them with complete texts
//	POST /jobs/{id}/signal  end a job, or send it a signal
//	POST /stop           end the watcher and every command that it runs
//
// A caller can never approve its own request. Containers use another socket, with other code and another protocol. This
// socket answers only processes of the user who started the session, and of root.
package control

import (
	"time"

	"github.com/docker-hostexec/hostexec/exec/shell"
)

// APIVersion is the version of this protocol. Clients can compare it with the one in Status.
const APIVersion = 1

// Status is the state of a session.
type Status struct {
	API     int    `json:"api"`
	Version string `json:"version"` // of the watcher
	State   string `json:"state"`   // running, waiting or keeping
	Carrier string `json:"carrier"` // how calls of shims arrive: a word of package carrier, such as socket or undecided

	CarrierWhy string `json:"carrier_why"` // why this carrier was chosen

	Since   time.Time `json:"since"` // the start of the watcher
	Calls   int       `json:"calls"` // START records so far: commands, and updates of git-push calls
	Running []Running `json:"running"`
	PID     int       `json:"pid"` // of the watcher

	Shells []shell.Info `json:"shells,omitempty"` // the shells with state

	Warnings []string `json:"warnings,omitempty"` // risks of the session, in printable ASCII
}

// Running is a call whose command runs, or is being started.
type Running struct {
	Request string    `json:"request"`
	Args    []string  `json:"args"`
	Dir     string    `json:"dir"` // on the host; for a shell in a container: CONTAINER:DIR
	PID     int       `json:"pid"` // on the host; 0: not started yet, or no single process of the host
	Since   time.Time `json:"since"`
	Cut     *Cut      `json:"cut,omitempty"` // in a list: the texts are cut
}

// The states of a session with a watcher.
const (
	StateRunning = "running"
	StateWaiting = "waiting" // waiting for a container that does not exist yet, is not started yet, or was just stopped
	StateKeeping = "keeping" // keeping jobs; the container has ended
)

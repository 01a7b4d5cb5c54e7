// SPDX-License-Identifier: Apache-2.0

package http

import (
	"encoding/json"
	"strings"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// reply is the carrier.Receiver of a call, and its outcome. Close it.
type reply struct {
	name     string // of the command
	exit     wire.Exit
	why      ending // if the command did not end the call
	started  bool
	asked    bool
	pattern  string
	out, err *output
}

// ending is the JSON of exec/call for a call that its command did not end.
type ending struct {
	Status, Reason string
}

func (r *reply) close() {
	r.out.close()
	r.err.close()
}

func (r *reply) Output(stream wire.Kind, b []byte) error {
	if stream == wire.KindStdout {
		r.out.write(b)
	} else {
		r.err.write(b)
	}
	return nil
}

func (r *reply) Event(kind wire.Kind, _ []byte) error {
	r.started = r.started || kind == wire.KindStarted
	return nil
}

// setExit stores the end of the call. The text of a verb of hostexec is its stderr.
func (r *reply) setExit(e wire.Exit) {
	r.exit, r.why = e, parseEnding(e.Text)
	if e.Outcome == wire.Exited || e.Outcome == wire.Signaled {
		r.err.write([]byte(e.Text))
	}
}

// parseEnding parses the last line of an Exit's text if it is JSON. Otherwise the whole text is the reason.
func parseEnding(text string) (e ending) {
	text = strings.TrimSpace(text)
	if json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &e) != nil {
		return ending{Reason: strings.TrimPrefix(text, "hostexec: ")}
	}
	return e
}

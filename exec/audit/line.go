// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// word stands before the kind in each line.
const word = "HOSTEXEC"

// body renders all of a record but its time, which comes before, and its place in the
// chain, which comes after.
func body(who Who, r Record, redact []*regexp.Regexp) string {
	var b strings.Builder
	b.WriteString(" " + word + " " + string(r.Kind))
	field(&b, "project", who.Project)
	field(&b, "branch", who.Branch)
	field(&b, "cloister", who.Session)
	field(&b, "container", who.Container)
	field(&b, "agent", who.Agent)
	command(&b, r.Args, redact)
	field(&b, "request", r.Request)
	switch r.Kind {
	case Request, Start:
		field(&b, "rule", r.Rule)
		field(&b, "path", r.Path)
		field(&b, "cwd", r.Dir)
	case AutoApprove:
		if r.Pattern == "" {
			r.Pattern = r.Rule
		}
		field(&b, "rule", r.Rule)
		text(&b, "pattern", r.Pattern)
	case Approve:
		field(&b, "rule", r.Rule)
		text(&b, "user", r.By)
	case Timeout, Cancel:
		field(&b, "rule", r.Rule)
	case Deny:
		field(&b, "rule", r.Rule)
		if r.By != "" {
			text(&b, "user", r.By)
		}
		text(&b, "reason", r.Reason)
	case Complete:
		if r.Signal != "" {
			field(&b, "signal", r.Signal)
		}
		fmt.Fprintf(&b, " exit=%d duration=%.3fs", r.Exit, max(r.Took, 0).Round(time.Millisecond).Seconds())
	}
	return b.String()
}

// field appends name=value: a plain word as it is, nothing as -, all else quoted.
func field(b *strings.Builder, name, value string) {
	switch {
	case value == "":
		b.WriteString(" " + name + "=-")
	case isPlain(value):
		b.WriteString(" " + name + "=" + value)
	default:
		text(b, name, value)
	}
}

// text appends name="value".
func text(b *strings.Builder, name, value string) {
	b.WriteString(" " + name + "=" + strconv.QuoteToASCII(value))
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/:"

func isPlain(s string) bool { return s != "-" && s != "" && strings.Trim(s, plain) == "" }

// maxCommand is how much of a command a record shows. Longer ones keep their beginning
// and the SHA-256 of the whole, so that the log stays injective and cannot be flooded.
const maxCommand = 16 << 10

// redacted stands for what a pattern of Options.Redact has matched.
const redacted = "[redacted]"

// command appends argv as a shell would need it typed. Where that is not all of it, its
// size and the SHA-256 of the whole follow.
func command(b *strings.Builder, args []string, redact []*regexp.Regexp) {
	whole := shellescape.QuoteCommand(args)
	shown := whole
	for _, re := range redact {
		shown = re.ReplaceAllLiteralString(shown, redacted)
	}
	text(b, "cmd", shown[:min(len(shown), maxCommand)])
	if shown != whole || len(shown) > maxCommand {
		sum := sha256.Sum256([]byte(whole))
		b.WriteString(" cmd_bytes=" + strconv.Itoa(len(whole)) + " cmd_sha256=" + hex.EncodeToString(sum[:]))
	}
}

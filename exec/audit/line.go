// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// recordTag precedes the kind in each line.
const recordTag = "HOSTEXEC"

// body returns the text of a record without the time and the chain fields. The time precedes body
// in the line and the chain fields follow it.
func body(info SessionInfo, r Record, redact []*regexp.Regexp) string {
	var b strings.Builder
	b.WriteString(" " + recordTag + " " + string(r.Kind))
	field(&b, "project", info.Project)
	field(&b, "branch", info.Branch)
	field(&b, "cloister", info.Session) // the key for the session in logs of all versions
	field(&b, "container", info.Container)
	field(&b, "agent", info.Agent)
	command(&b, r.Args, redact, maxShown(r.Kind))
	field(&b, "request", r.Request)
	kindFields(&b, r, redact)
	return b.String()
}

// kindFields appends the fields of the kind of r.
func kindFields(b *strings.Builder, r Record, redact []*regexp.Regexp) {
	switch r.Kind {
	case Request, Start:
		field(b, "rule", r.Rule)
		field(b, "path", r.Path)
		field(b, "cwd", r.Dir)
		if r.Preview != "" {
			field(b, "preview", r.Preview)
		}
	case AutoApprove:
		field(b, "rule", r.Rule)
		text(b, "pattern", cmp.Or(r.Pattern, r.Rule))
	case Approve:
		field(b, "rule", r.Rule)
		text(b, "user", hide(r.By, redact)) // a grant whose argument varies has the command
		if r.Grant != "" {
			text(b, "grant", hide(r.Grant, redact))
		}
		if r.Inputs != "" {
			field(b, "inputs", r.Inputs)
		}
		if r.More {
			b.WriteString(" more=yes")
		}
	case Timeout, Cancel:
		field(b, "rule", r.Rule)
	case Deny:
		field(b, "rule", r.Rule)
		if r.By != "" {
			text(b, "user", r.By)
		}
		reason(b, r.Reason)
	case Refusals:
		fmt.Fprintf(b, " count=%d", r.Count)
		field(b, "since", r.Since.UTC().Format(time.RFC3339))
		reason(b, r.Reason)
	case Complete:
		if r.Signal != "" {
			field(b, "signal", r.Signal)
		}
		fmt.Fprintf(b, " exit=%d duration=%.3fs", r.Exit, max(r.Duration, 0).Round(time.Millisecond).Seconds())
	}
}

// field appends name=value. A plain word is written as it is, an empty value as -, other values are
// quoted.
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

var plainValue = names.Form{Chars: "a-z0-9/A-Z_+.:-", Min: 1, Max: names.Unbounded}

// isPlain reports whether a value needs no quotes.
func isPlain(s string) bool { return s != "-" && plainValue.Matches(s) }

const (
	maxArg    = 1 << 10 // bytes of an argument in a record; see short
	maxReason = 1 << 10 // bytes
	// maxCommand is the maximum number of bytes of the command in the main record of a request.
	// maxRepeated is the maximum in the other records of the request. A longer command is replaced by
	// its beginning, its length and its SHA-256, so that different commands have different records.
	maxCommand, maxRepeated = 16 << 10, 1 << 10
)

// maxShown returns the maximum number of bytes of the command in a record of kind k.
func maxShown(k Kind) int {
	switch k {
	case Request, AutoApprove, Start, Deny:
		return maxCommand
	}
	return maxRepeated
}

// redacted replaces the matches of the patterns of Options.Redact.
const redacted = "[redacted]"

// hide returns s without the matches of the patterns.
func hide(s string, redact []*regexp.Regexp) string {
	for _, re := range redact {
		s = re.ReplaceAllLiteralString(s, redacted)
	}
	return s
}

// command appends args quoted for a shell, in at most limit bytes. If the text is not the whole
// command, the length and the SHA-256 of the whole command follow.
func command(b *strings.Builder, args []string, redact []*regexp.Regexp, limit int) {
	whole := shellescape.QuoteCommand(args)
	shown := hide(whole, redact)
	if shown == whole { // redaction may have removed quotes
		shown = short(args)
	}
	shown = truncateQuoted(shown, limit)
	text(b, "cmd", shown)
	if shown != whole {
		b.WriteString(" cmd_bytes=" + strconv.Itoa(len(whole)) + " cmd_sha256=" + digestOf(whole))
	}
}

// short returns args quoted for a shell, with long arguments shortened. [LENGTH:SHA256] replaces
// the rest of a long argument. A bracket that belongs to an argument is quoted.
func short(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		if len(arg) <= maxArg {
			words[i] = shellescape.Quote(arg)
			continue
		}
		words[i] = shellescape.Quote(arg[:maxArg]) + "[" + strconv.Itoa(len(arg)) + ":" + digestOf(arg) + "]"
	}
	return strings.Join(words, " ")
}

// truncateQuoted returns the longest beginning of s that has at most limit bytes when quoted.
func truncateQuoted(s string, limit int) string {
	n := min(len(s), limit)
	for {
		over := len(strconv.QuoteToASCII(s[:n])) - 2 - limit
		if over <= 0 {
			return s[:n]
		}
		n -= max(1, over/4) // most bytes take at most four bytes when quoted
	}
}

// reason appends the reason of a record. A long reason is replaced by its beginning, its length and
// its SHA-256.
func reason(b *strings.Builder, whole string) {
	shown := truncateQuoted(whole, maxReason)
	text(b, "reason", shown)
	if shown != whole {
		b.WriteString(" reason_bytes=" + strconv.Itoa(len(whole)) + " reason_sha256=" + digestOf(whole))
	}
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

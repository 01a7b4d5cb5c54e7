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
	command(&b, r.Args, redact, maxShown(r.Kind))
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
		reason(&b, r.Reason)
	case Refusals:
		fmt.Fprintf(&b, " count=%d", r.Count)
		field(&b, "since", r.Since.UTC().Format(time.RFC3339))
		reason(&b, r.Reason)
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

const (
	// maxArg is how many bytes of an argument are shown. A longer one keeps its beginning,
	// its length and its SHA-256.
	maxArg = 1 << 10
	// maxCommand is how many bytes a record has for its command where a reader looks for it,
	// and maxEcho in the other records of the same request. A longer command keeps its
	// beginning, its length and its SHA-256, so that the log stays injective.
	maxCommand, maxEcho = 16 << 10, 1 << 10
	// maxReason is how many bytes of a reason are shown.
	maxReason = 1 << 10
)

// maxShown is how many bytes a record of that kind has for its command.
func maxShown(k Kind) int {
	switch k {
	case Request, AutoApprove, Start, Deny:
		return maxCommand
	}
	return maxEcho
}

// redacted stands for what a pattern of Options.Redact has matched.
const redacted = "[redacted]"

// command appends argv as a shell would need it typed, in at most limit bytes. Where that is
// not all of it, its length and the SHA-256 of the whole follow.
func command(b *strings.Builder, args []string, redact []*regexp.Regexp, limit int) {
	whole := shellescape.QuoteCommand(args)
	shown := whole
	for _, re := range redact {
		shown = re.ReplaceAllLiteralString(shown, redacted)
	}
	if shown == whole { // else its quotes may not be where they were
		shown = short(args)
	}
	shown = fitting(shown, limit)
	text(b, "cmd", shown)
	if shown != whole {
		b.WriteString(" cmd_bytes=" + strconv.Itoa(len(whole)) + " cmd_sha256=" + digestOf(whole))
	}
}

// short is args as a shell would need them typed, but for those that are long: [LENGTH:SHA256]
// takes the place of the rest. A bracket that an argument has itself is in quotes.
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

// fitting is the beginning of s that has at most limit bytes in quotes.
func fitting(s string, limit int) string {
	n := min(len(s), limit)
	for {
		over := len(strconv.QuoteToASCII(s[:n])) - 2 - limit
		if over <= 0 {
			return s[:n]
		}
		n -= max(1, over/4) // a byte takes at most four, mostly
	}
}

// reason appends the reason of a record, or its beginning, its length and its SHA-256.
func reason(b *strings.Builder, whole string) {
	shown := fitting(whole, maxReason)
	text(b, "reason", shown)
	if shown != whole {
		b.WriteString(" reason_bytes=" + strconv.Itoa(len(whole)) + " reason_sha256=" + digestOf(whole))
	}
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

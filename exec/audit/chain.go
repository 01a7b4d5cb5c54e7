// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// link is a record's place in the chain of its session. The zero value is before the first.
type link struct {
	seq  uint64
	hash string
}

// origin stands for the hash of the record before the first.
var origin = strings.Repeat("0", hashLen)

// hashLen is how many hex digits of a SHA-256 a record shows: 128 bits.
const hashLen = 32

func (l link) prev() string {
	if l.seq == 0 {
		return origin
	}
	return l.hash
}

// seal makes a body the line that follows l in its chain, and returns its link.
func (l link) seal(now time.Time, chain, body string) ([]byte, link) {
	var b strings.Builder
	b.WriteString(now.UTC().Format(time.RFC3339) + body)
	field(&b, "chain", chain)
	fmt.Fprintf(&b, " seq=%d prev=%s", l.seq+1, l.prev())
	next := link{seq: l.seq + 1, hash: digest(b.String())}
	return []byte(b.String() + hashField + next.hash + "\n"), next
}

// hashField begins the last field of a line, which is the hash of what stands before it.
const hashField = " hash="

func digest(s string) string { return digestOf(s)[:hashLen] }

// last returns the last whole record of a chain that the log at path has, so that a
// watcher that was started again goes on where the one before ended. The newest file that has
// any of the chain has its last.
func last(path, chain string) (l link, err error) {
	all, err := snapshot(path)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	for i := len(all) - 1; i >= 0 && l.seq == 0 && err == nil; i-- {
		l, err = lastIn(newReader("", all[i:i+1]), chain)
	}
	return l, err
}

// lastIn is last, of what r reads.
func lastIn(r *Reader, chain string) (l link, err error) {
	var b strings.Builder
	field(&b, "chain", chain)
	mark := b.String() + " "
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return l, err
		}
		if !line.Whole || !strings.Contains(line.Text, mark) { // others' are many
			continue
		}
		if e, err := Parse(line.Text); err == nil && e.Chain == chain {
			l = link{seq: e.Seq, hash: e.Hash}
		}
	}
}

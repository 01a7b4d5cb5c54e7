// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// chainPosition is the position of a record in the chain of its session. The zero value is the position
// before the first record.
type chainPosition struct {
	seq  uint64
	hash string
}

// origin is the previous hash of the first record.
var origin = strings.Repeat("0", hashLen)

// hashLen is the number of hex digits of the SHA-256 in a record: 128 bits.
const hashLen = 32

func (l chainPosition) prev() string {
	if l.seq == 0 {
		return origin
	}
	return l.hash
}

// seal returns the line for body as the record after l in its chain, and the position of that record.
func (l chainPosition) seal(now time.Time, chain, body string) ([]byte, chainPosition) {
	var b strings.Builder
	b.WriteString(now.UTC().Format(time.RFC3339) + body)
	field(&b, "chain", chain)
	fmt.Fprintf(&b, " seq=%d prev=%s", l.seq+1, l.prev())
	next := chainPosition{seq: l.seq + 1, hash: digest(b.String())}
	return []byte(b.String() + hashField + next.hash + "\n"), next
}

// hashField begins the last field of a line: the hash of the text before it.
const hashField = " hash="

func digest(s string) string { return digestOf(s)[:hashLen] }

// last returns the last complete record of a chain in the log at path. A restarted watcher
// continues the chain from there. The newest file that contains records of the chain contains the
// last one.
func last(path, chain string) (l chainPosition, err error) {
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

// lastIn returns the last complete record of a chain that r reads.
func lastIn(r *Reader, chain string) (l chainPosition, err error) {
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
		if !line.Recordable || !strings.Contains(line.Text, mark) { // skips the many records of other chains before parsing
			continue
		}
		if e, err := Parse(line.Text); err == nil && e.Chain == chain {
			l = chainPosition{seq: e.Seq, hash: e.Hash}
		}
	}
}

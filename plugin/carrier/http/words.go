// SPDX-License-Identifier: Apache-2.0

package http

import (
	"errors"
	"strings"
)

var errQuote = errors.New("a quote or a backslash in the command has no end")

// splitWords splits a command line into words as a shell does (POSIX, XCU 2.2), without expansions and operators:
// a ; or # is a character. Libraries differ: google/shlex has comments, mattn/go-shellwords stops at operators,
// and mvdan.cc/sh expands variables. The caller would get another command than the one that it sent.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
			continue
		case '\'', '"':
			n, ok := quoted(&word, line[i+1:], c)
			if !ok {
				return nil, errQuote
			}
			i += n
		case '\\':
			if i++; i == len(line) {
				return nil, errQuote
			}
			if line[i] == '\n' {
				continue // the line goes on
			}
			word.WriteByte(line[i])
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted appends the text before the next quote to word. It returns its length, with the quote, and false if there is
// no quote.
func quoted(word *strings.Builder, s string, quote byte) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == quote:
			return i + 1, true
		case c == '\\' && quote == '"' && i+1 < len(s) && strings.IndexByte("\"\\$`\n", s[i+1]) >= 0:
			if i++; s[i] != '\n' {
				word.WriteByte(s[i])
			}
		default:
			word.WriteByte(c)
		}
	}
	return 0, false
}

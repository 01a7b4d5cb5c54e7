// SPDX-License-Identifier: Apache-2.0

package names

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// maxDepth is the maximum nesting depth of a request. Valid requests have two levels.
const maxDepth = 16

// AmbiguousError is the reason why a text is refused: two JSON parsers could read it differently.
// It is printable ASCII.
type AmbiguousError string

func (e AmbiguousError) Error() string { return string(e) }

const (
	errUTF8      AmbiguousError = "it is not UTF-8"
	errSurrogate AmbiguousError = "a \\u escape is half of a pair"
	errDepth     AmbiguousError = "it is nested too deep"
	errMore      AmbiguousError = "there is more behind it"
)

// DecodeJSON decodes text, one JSON value from an untrusted sender, into v. It ensures that all parsers
// read the text alike. encoding/json uses the last of several equal keys, ignores the case of keys,
// and replaces invalid characters with U+FFFD. DecodeJSON returns an AmbiguousError for each of these,
// for keys without a field in v, and for deep nesting. In a map, keys that differ only in case are
// permitted. v has no embedded structs.
func DecodeJSON(text []byte, v any) error {
	if !utf8.Valid(text) {
		return errUTF8
	}
	in := json.NewDecoder(bytes.NewReader(text))
	if err := walk(in, reflect.TypeOf(v), 0); err != nil {
		return err
	}
	if _, err := in.Token(); err != io.EOF {
		return errMore
	}
	if !validSurrogates(text) {
		return errSurrogate
	}
	return json.Unmarshal(text, v)
}

// walk checks the next value, which is decoded into type t. A nil t accepts any value.
func walk(in *json.Decoder, t reflect.Type, depth int) error {
	tok, err := in.Token()
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	delim, nested := tok.(json.Delim)
	if err != nil || !nested {
		return err
	}
	if depth == maxDepth {
		return errDepth
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if delim == '{' {
		err = walkObject(in, t, depth+1)
	} else {
		for err == nil && in.More() {
			err = walk(in, JSONElem(t), depth+1)
		}
	}
	if err == nil {
		_, err = in.Token() // the closing delimiter
	}
	return err
}

func walkObject(in *json.Decoder, t reflect.Type, depth int) error {
	had := map[string]bool{}
	for in.More() {
		tok, err := in.Token()
		if err != nil {
			return err
		}
		key, _ := tok.(string) // always a string here
		of, known := field(t, key)
		switch {
		case had[key]:
			return AmbiguousError("the key " + shownKey(key) + " is there twice")
		case !known:
			return AmbiguousError("the key " + shownKey(key) + " is not known")
		}
		had[key] = true
		if err := walk(in, of, depth); err != nil {
			return err
		}
	}
	return nil
}

// field returns the type of the value of key in an object for t, and whether the key is permitted.
func field(t reflect.Type, key string) (reflect.Type, bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return JSONElem(t), true
	}
	_, of := JSONField(t, func(k string) bool { return k == key })
	return of, of != nil
}

func shownKey(key string) string {
	if len(key) > 40 {
		key = key[:40]
	}
	return strconv.QuoteToASCII(key)
}

// validSurrogates reports whether each \u escape of text, which is JSON, is a character or part of a
// surrogate pair.
func validSurrogates(text []byte) bool {
	high := false // the previous escape was the first half of a pair
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			if high {
				return false
			}
			continue
		}
		unit := uint64(0)
		if i+6 <= len(text) && text[i+1] == 'u' {
			unit, _ = strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
			i += 4
		}
		i++
		if low := unit >= 0xdc00 && unit <= 0xdfff; low != high {
			return false
		}
		high = unit >= 0xd800 && unit <= 0xdbff
	}
	return !high
}

// ASCIIJSON returns text with escapes for all characters except printable ASCII, newline and tab.
// encoding/json does not escape DEL, C1 controls and bidirectional controls, which a terminal
// executes. JSON parsers read the result as the same value.
func ASCIIJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, escaped) {
		return text
	}
	b := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !escaped(r):
			b = append(b, byte(r))
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b
}

func escaped(r rune) bool { return r > '~' || r < ' ' && r != '\n' && r != '\t' }

// ASCIIWriter returns a writer that applies ASCIIJSON to each text and writes the result to w.
func ASCIIWriter(w io.Writer) io.Writer { return asciiWriter{w} }

type asciiWriter struct{ w io.Writer }

func (a asciiWriter) Write(text []byte) (int, error) {
	if _, err := a.w.Write(ASCIIJSON(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

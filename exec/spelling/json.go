// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep a request may be nested. What is sent here has two levels.
const maxDepth = 16

// AmbiguousError says why a text that may be JSON is not taken for any: two programs could read it
// differently. It is printable ASCII.
type AmbiguousError string

func (e AmbiguousError) Error() string { return string(e) }

const (
	errUTF8      AmbiguousError = "it is not UTF-8"
	errSurrogate AmbiguousError = "a \\u escape is half of a pair"
	errDepth     AmbiguousError = "it is nested too deep"
	errMore      AmbiguousError = "there is more behind it"
)

// Decode reads text, one value of JSON, into v, for those whose words are not to be trusted:
// two programs that read it have to read the same. encoding/json takes the last of several
// equal keys, a key in another case, and makes U+FFFD of what is no character; here all of
// them are an AmbiguousError, and so are keys that v has no field for, and deep nesting. The keys
// of a map may differ in case alone. v has no embedded structs.
func Decode(text []byte, v any) error {
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
	if !pairs(text) {
		return errSurrogate
	}
	return json.Unmarshal(text, v)
}

// walk goes over the next value, which is for one of type t; nil is any.
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
			err = walk(in, elem(t), depth+1)
		}
	}
	if err == nil {
		_, err = in.Token() // the end of it
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
		key, _ := tok.(string) // nothing else comes there
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

// field returns the type of what key is in an object for t, and whether there may be one.
func field(t reflect.Type, key string) (reflect.Type, bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return elem(t), true
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" {
			name = t.Field(i).Name
		}
		if name == key && t.Field(i).IsExported() {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}

func elem(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		return t.Elem()
	}
	return nil
}

func shownKey(key string) string {
	if len(key) > 40 {
		key = key[:40]
	}
	return strconv.QuoteToASCII(key)
}

// pairs reports whether each \u escape of text, which is JSON, is a character, or is with the next.
func pairs(text []byte) bool {
	high := false // the escape before was the first half of a pair
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

// ASCII returns text with an escape in place of each character that is no printable ASCII, nor the
// end of a line or a tab. encoding/json leaves DEL, C1 controls and what turns lines around as they
// are, and a terminal obeys them. Of JSON programs read the same.
func ASCII(text []byte) []byte {
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

// ASCIIWriter returns a writer to w of what ASCII makes of each text that is written to it.
func ASCIIWriter(w io.Writer) io.Writer { return asciiWriter{w} }

type asciiWriter struct{ w io.Writer }

func (a asciiWriter) Write(text []byte) (int, error) {
	if _, err := a.w.Write(ASCII(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

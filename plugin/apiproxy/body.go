// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/docker/docker/api/types/container"

	"github.com/docker-hostexec/hostexec/exec/names"
)

const (
	// maxBody is the maximum size of a create request. Engines have no limit. The largest known request, with 3,000
	// variables, has 300 kB.
	maxBody = 16 << 20
	// maxDepth is the maximum nesting depth of a create request. Valid requests have seven levels.
	maxDepth = 64
	// maxTokens is the maximum number of keys and values in a create request. Each takes memory: 16 MiB of short
	// numbers would take 690 MB.
	maxTokens = 200_000
)

// createType is the type that the engine decodes a create request into.
var createType = reflect.TypeFor[container.CreateRequest]()

// decode returns text, a create request, as a JSON tree that every engine reads in the same way. It refuses a key that
// occurs twice in an object. Engines ignore the case of keys that name fields. So decode changes such a key to the
// API's spelling, and refuses two keys that differ only in case. Keys of maps, such as labels, may differ in case.
// decode keeps a key that createType does not have, and treats all keys below it as names of fields.
func decode(text []byte) (map[string]any, error) {
	in := &tokenReader{Decoder: json.NewDecoder(bytes.NewReader(text))}
	in.UseNumber()
	v, err := decodeValue(in, createType, 0)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("there is more after the JSON object")
	}
	return tree, nil
}

// tokenReader reads JSON, and limits the number of its keys and values.
type tokenReader struct {
	*json.Decoder
	count int
}

// next returns the next key or value, or the opening bracket of a value.
func (p *tokenReader) next() (json.Token, error) {
	if p.count == maxTokens {
		return nil, fmt.Errorf("it has more than %d keys and values", maxTokens)
	}
	p.count++
	return p.Token()
}

// decodeValue reads the next value, which an engine decodes into type t. A nil t is a type that this version does not
// know.
func decodeValue(in *tokenReader, t reflect.Type, depth int) (any, error) {
	tok, err := in.next()
	if err != nil {
		return nil, err
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("it has more than %d levels", maxDepth)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch tok {
	case json.Delim('{'):
		return decodeObject(in, t, depth+1)
	case json.Delim('['):
		list := []any{}
		for in.More() {
			v, err := decodeValue(in, names.JSONElem(t), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = in.Token() // the closing bracket
		return list, err
	}
	return tok, nil
}

// decodeObject reads the rest of an object.
func decodeObject(in *tokenReader, t reflect.Type, depth int) (map[string]any, error) {
	isMap := t != nil && t.Kind() == reflect.Map
	all, seen := map[string]any{}, map[string]bool{}
	for in.More() {
		tok, err := in.next()
		if err != nil {
			return nil, err
		}
		key, _ := tok.(string) // always a string here
		elem := names.JSONElem(t)
		folded := key
		if !isMap {
			key, elem = apiField(t, key)
			folded = fold(key)
		}
		if seen[folded] {
			return nil, fmt.Errorf("the key %s is there twice, or in another case", strconv.QuoteToASCII(shortened(key)))
		}
		seen[folded] = true
		if all[key], err = decodeValue(in, elem, depth); err != nil {
			return nil, err
		}
	}
	_, err := in.Token() // the closing brace
	return all, err
}

// apiField returns the API's spelling of a key of a struct t, and the type of its value.
func apiField(t reflect.Type, key string) (string, reflect.Type) {
	if spelled, of := names.JSONField(t, func(k string) bool { return strings.EqualFold(k, key) }); of != nil {
		return spelled, of
	}
	return key, nil
}

// fold returns the same text for all keys that encoding/json treats as the same field: those equal by
// strings.EqualFold.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, key)
}

func shortened(key string) string { return key[:min(len(key), 40)] }

// encode returns tree as JSON.
func encode(tree map[string]any) ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(tree)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

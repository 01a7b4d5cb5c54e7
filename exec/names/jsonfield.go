// SPDX-License-Identifier: Apache-2.0

package names

import (
	"reflect"
	"strings"
)

// JSONField returns the first field of struct t whose JSON key satisfies is: its key, and the type of its value.
// Fields of embedded structs count. A nil type means that there is none.
func JSONField(t reflect.Type, is func(key string) bool) (key string, of reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct {
		return "", nil
	}
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if f.Anonymous && key == "" {
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			if key, of := JSONField(of, is); of != nil {
				return key, of
			}
			continue
		}
		if key == "" {
			key = f.Name
		}
		if f.IsExported() && is(key) {
			return key, of
		}
	}
	return "", nil
}

// JSONElem returns the type of the elements of t, a map or a list. A nil type means that t is neither.
func JSONElem(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		return t.Elem()
	}
	return nil
}

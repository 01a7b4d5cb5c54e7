// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command/formatter"
)

// ListFormat returns the format of a list from --quiet and --format. table has the columns of a table.
func ListFormat(quiet bool, format, table string) formatter.Format {
	switch {
	case quiet:
		return formatter.DefaultQuietFormat
	case format == formatter.TableFormatKey:
		return formatter.Format(table)
	}
	return formatter.Format(format)
}

// Row is embedded by the rows of a list. Their exported fields are the columns, and the fields for templates. A column's
// header is the name in capitals, or the field's tag "header".
type Row struct{}

// FullHeader makes a row one for the formatter. It returns nothing: WriteRows gives the formatter the header.
func (Row) FullHeader() any { return nil }

// MarshalRow returns a row's columns as JSON, in the order of their names. A row's MarshalJSON calls it.
func MarshalRow(row any) ([]byte, error) {
	columns := map[string]any{}
	for _, name := range FieldsOf(row) {
		columns[name] = reflect.ValueOf(row).FieldByName(name).Interface()
	}
	return json.Marshal(columns)
}

// WriteRows writes rows to out.
func WriteRows[R formatter.SubContext](out formatter.Context, rows []R) error {
	header := formatter.SubHeaderContext{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]().Elem()) {
		header[f.Name] = cmp.Or(f.Tag.Get("header"), strings.ToUpper(f.Name))
	}
	return out.Write(&formatter.HeaderContext{Header: header}, func(write func(formatter.SubContext) error) error {
		for _, r := range rows {
			if err := write(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// FieldsOf returns the fields of a struct that a template can use.
func FieldsOf(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if f.IsExported() && !f.Anonymous {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

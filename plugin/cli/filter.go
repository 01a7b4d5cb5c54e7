// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command/formatter"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Criterion is a key of --filter for lists of T.
type Criterion[T any] struct {
	Key  string
	Is   func(v T, value string) bool
	Only []string // the permitted values; nil permits any
}

// Filters has the values of --filter. For each given key, one of its values must match.
type Filters[T any] struct {
	by     []Criterion[T]
	values map[string][]string
}

// FilterFlag adds --filter to cmd; what names the listed objects. For the completion, known returns the existing values
// of a key without a list of its own.
func FilterFlag[T any](cmd *cobra.Command, values *[]string, short, what string, by []Criterion[T], known func(key string) []string) {
	cmd.Flags().StringArrayVarP(values, "filter", short, nil, "Only show "+what+" with `KEY=VALUE` ("+filterKeys(by)+")")
	_ = cmd.RegisterFlagCompletionFunc("filter", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeFilter(by, known, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}) // the flag exists
}

// completeFilter completes first the keys, and then the values of a key.
func completeFilter[T any](by []Criterion[T], known func(key string) []string, typed string) (offers []string) {
	key, _, given := strings.Cut(typed, "=")
	for _, c := range by {
		switch {
		case !given:
			offers = append(offers, c.Key+"=")
		case c.Key == key:
			values := c.Only
			if values == nil {
				values = known(key)
			}
			for _, value := range values {
				offers = append(offers, key+"="+value)
			}
		}
	}
	return offers
}

// FormatFlag adds --format to cmd, whose default is a table. A template can use fields.
func FormatFlag(cmd *cobra.Command, format *string, fields []string) {
	ExplainFields(cmd, fields)
	cmd.Flags().StringVar(format, "format", formatter.TableFormatKey, "Format output: `table|json|TEMPLATE`")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// ExplainFields adds the fields for templates to cmd's help.
func ExplainFields(cmd *cobra.Command, fields []string) {
	var text strings.Builder
	text.WriteString("FIELDS OF A TEMPLATE\n")
	width := 0
	for _, f := range fields {
		if width += len(f) + 2; width > 88 {
			text.WriteString("\n")
			width = len(f) + 2
		}
		if width == len(f)+2 {
			text.WriteString(" ")
		}
		text.WriteString(" ." + f)
	}
	before, status, ok := strings.Cut(cmd.Long, "\n\nEXIT STATUS")
	if cmd.Long = before + "\n\n" + text.String(); ok {
		cmd.Long += "\n\nEXIT STATUS" + status
	}
}

// ParseFilters parses the values KEY=VALUE of --filter.
func ParseFilters[T any](args []string, by []Criterion[T]) (Filters[T], error) {
	f := Filters[T]{by, map[string][]string{}}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		i := slices.IndexFunc(by, func(c Criterion[T]) bool { return c.Key == key })
		if !ok || i < 0 {
			return f, fmt.Errorf("--filter %s: want KEY=VALUE with KEY one of %s", names.Quoted(arg), filterKeys(by))
		}
		if c := by[i]; c.Only != nil && !slices.ContainsFunc(c.Only, func(v string) bool { return strings.EqualFold(v, value) }) {
			return f, fmt.Errorf("--filter %s: there is no such %s: want one of %s", names.Quoted(arg), key, strings.Join(c.Only, ", "))
		}
		f.values[key] = append(f.values[key], value)
	}
	return f, nil
}

// Has reports whether key was given.
func (f Filters[T]) Has(key string) bool { return len(f.values[key]) > 0 }

// Match reports whether v matches one value of each given key.
func (f Filters[T]) Match(v T) bool {
	for _, c := range f.by {
		if f.Has(c.Key) && !slices.ContainsFunc(f.values[c.Key], func(value string) bool { return c.Is(v, value) }) {
			return false
		}
	}
	return true
}

// filterKeys lists the keys for help and errors.
func filterKeys[T any](by []Criterion[T]) string {
	var keys []string
	for _, c := range by {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, ", ")
}

// Equals returns a match of the whole value.
func Equals[T any](of func(T) string) func(T, string) bool {
	return func(v T, value string) bool { return of(v) == value }
}

// EqualsFold returns a match of the whole value in any case.
func EqualsFold[T any](of func(T) string) func(T, string) bool {
	return func(v T, value string) bool { return strings.EqualFold(of(v), value) }
}

// Begins returns a match of the beginning of an ID.
func Begins[T any](of func(T) string) func(T, string) bool {
	return func(v T, value string) bool { return value != "" && strings.HasPrefix(of(v), value) }
}

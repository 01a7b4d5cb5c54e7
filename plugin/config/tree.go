// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/docker/go-units"
	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// reader reads one file and collects its errors and warnings.
type reader struct {
	file     string
	problems []policy.Problem
	warnings []policy.Problem
}

func (r *reader) where(n *yaml.Node) string { return r.file + ":" + strconv.Itoa(n.Line) }

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, policy.Problem{Position: r.where(n), Text: fmt.Sprintf(format, args...), Fatal: true})
}

// warn adds a warning, which does not break the file. If ignored is set, the entry was invalid and ignored,
// and policy check fails.
func (r *reader) warn(n *yaml.Node, ignored bool, format string, args ...any) {
	r.warnings = append(r.warnings, policy.Problem{Position: r.where(n), Text: fmt.Sprintf(format, args...), Fatal: ignored})
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?:yaml: )?(?:line (\d+): )?(.*)`) })

// findInvalidText returns the line, from 1, and the kind of the first invalid character in text. The parser
// rejects these characters too, but does not report the line.
func findInvalidText(text []byte) (line int, what string) {
	line = 1
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && n == 1:
			return line, "not UTF-8"
		case c < ' ' && !strings.ContainsRune("\t\n\r", c) || c == 0x7f:
			return line, "control characters are not allowed"
		case c == '\n':
			line++
		}
		text = text[n:]
	}
	return 0, ""
}

// parseYAML parses text, which must be one document without anchors and aliases. It returns nil if the document
// is empty or invalid.
func (r *reader) parseYAML(text []byte) *yaml.Node {
	if line, what := findInvalidText(text); line > 0 {
		r.fail(&yaml.Node{Line: line}, "%s", what)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && !errors.Is(dec.Decode(&more), io.EOF) {
		err = errors.New("more than one document")
	}
	if err != nil {
		m := yamlLine().FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
		line, _ := strconv.Atoi(m[1])
		r.fail(&yaml.Node{Line: max(line, 1)}, "%s", m[2])
		return nil
	}
	if len(doc.Content) == 0 || !r.rejectAliases(&doc) {
		return nil
	}
	return doc.Content[0]
}

// rejectAliases rejects anchors, aliases and tags, because they change the meaning of other text.
func (r *reader) rejectAliases(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.fail(n, "anchors and aliases are not allowed")
		return false
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(n, "tags are not allowed")
		return false
	}
	for _, sub := range n.Content {
		if !r.rejectAliases(sub) {
			return false
		}
	}
	return true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// fields calls the function in known for each key of a mapping. An unknown key is an error.
func (r *reader) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	r.each(n, what, func(key, value *yaml.Node) {
		read, ok := known[key.Value]
		if !ok {
			r.fail(key, "unknown key %s in %s: there are %s", names.Quoted(key.Value), what, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			return
		}
		read(value)
	})
}

// each calls f for each key and value of a mapping. A null value counts as an empty mapping.
func (r *reader) each(n *yaml.Node, what string, f func(key, value *yaml.Node)) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%s: keys and values wanted", what)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.fail(key, "%s: a key is a word", what)
			continue
		case twice:
			r.fail(key, "duplicate key %s in %s: see line %d", names.Quoted(key.Value), what, line)
			continue
		}
		seen[key.Value] = key.Line
		f(key, n.Content[i+1])
	}
}

// list calls f for each entry of a list. A null value counts as an empty list.
func (r *reader) list(n *yaml.Node, what string, f func(*yaml.Node)) {
	if isNull(n) {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
	case yaml.ScalarNode:
		r.fail(n, "%s: a list wanted: write [%s]", what, strconv.QuoteToASCII(n.Value))
		return
	default:
		r.fail(n, "%s: a list wanted, as in [a, b]", what)
		return
	}
	for _, entry := range n.Content {
		f(entry)
	}
}

// scalar returns the text of a scalar as written: numbers and booleans are words, too.
func (r *reader) scalar(n *yaml.Node, what string) (string, bool) {
	switch {
	case isNull(n):
		r.fail(n, "%s: the value is missing (\"\" is an empty one)", what)
	case n.Kind == yaml.SequenceNode:
		r.fail(n, "%s: one value wanted, and not a list", what)
	case n.Kind != yaml.ScalarNode:
		r.fail(n, "%s: one value wanted, and not keys and values", what)
	default:
		return n.Value, true
	}
	return "", false
}

func (r *reader) scalars(what string, into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		*into = []string{}
		r.list(n, what, func(n *yaml.Node) {
			if w, ok := r.scalar(n, what); ok {
				*into = append(*into, w)
			}
		})
	}
}

// scalar returns a function that reads a scalar with parse and stores it in into.
func scalar[T any](r *reader, what string, into *T, parse func(string) (T, error)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		w, ok := r.scalar(n, what)
		if !ok {
			return
		}
		v, err := parse(w)
		if err != nil {
			r.fail(n, "%s: %v", what, err)
			return
		}
		*into = v
	}
}

// optionalScalar is like scalar, but into stays nil if the key is unset.
func optionalScalar[T any](r *reader, what string, into **T, parse func(string) (T, error)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		v, before := new(T), len(r.problems)
		scalar(r, what, v, parse)(n)
		if len(r.problems) == before {
			*into = v
		}
	}
}

func text(s string) (string, error) { return s, nil }

func parseBool(s string) (bool, error) {
	switch s {
	case "true", "yes", "on":
		return true, nil
	case "false", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", names.Quoted(s))
}

func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s is not a duration such as 90s or 5m", names.Quoted(s))
	}
	return d, nil
}

func size(s string) (int64, error) {
	n, err := units.RAMInBytes(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is not a size such as 64KiB or 1GiB", names.Quoted(s))
	}
	return n, nil
}

func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > policy.MaxArgs {
		return 0, fmt.Errorf("%s is not a number up to %d", names.Quoted(s), policy.MaxArgs)
	}
	return n, nil
}

// choice returns a parser that accepts one of words.
func choice(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("%s is none of %s", names.Quoted(s), strings.Join(words, ", "))
		}
		return s, nil
	}
}

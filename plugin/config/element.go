// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// element reads one element of a rule's argv.
func (d *document) element(n *yaml.Node) (e policy.Element) {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		return policy.Element{Kind: policy.KindWord, Words: []string{n.Value}}
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, "argv: a word, or one of {re: } {any: } {flags: } {opts: } {args: } {path: } {insert: } wanted")
		return e
	}
	switch {
	case lookup(n, "re") != nil:
		e.Kind = policy.KindRegexp
		d.readPattern(n, "re", &e, nil)
	case lookup(n, "args") != nil:
		e.Kind, e.Max = policy.KindArgs, -1
		d.readPattern(n, "args", &e, d.countKeys(&e))
	case lookup(n, "any") != nil:
		e.Kind = policy.KindAny
		d.fields(n, "any", map[string]func(*yaml.Node){"any": d.scalars("any", &e.Words)})
	case lookup(n, "insert") != nil:
		e.Kind = policy.KindInsert
		d.fields(n, "insert", map[string]func(*yaml.Node){"insert": d.scalars("insert", &e.Words)})
	case lookup(n, "path") != nil:
		d.path(n, &e)
	case len(n.Content) == 0:
		d.fail(n, "argv: an element with nothing in it")
	case lookup(n, "flags") == nil && lookup(n, "opts") == nil:
		d.fail(n, "unknown key %s in argv: there are any, args, flags, insert, opts, path, re", names.Quoted(n.Content[0].Value))
	default:
		e.Kind = policy.KindOptions
		d.fields(n, "argv", map[string]func(*yaml.Node){
			"flags": d.scalars("flags", &e.Flags),
			"opts":  d.opts(&e.Opts),
		})
	}
	return e
}

// countKeys returns the keys for the number of arguments that an element takes.
func (d *document) countKeys(e *policy.Element) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"min": scalar(d.reader, "min", &e.Min, count),
		"max": scalar(d.reader, "max", &e.Max, count),
	}
}

// readPattern reads an element that is a pattern. The keys in more are allowed besides the pattern's own.
func (d *document) readPattern(n *yaml.Node, key string, e *policy.Element, more map[string]func(*yaml.Node)) {
	source, wide, before := "", false, len(d.problems)
	known := map[string]func(*yaml.Node){
		key:       scalar(d.reader, key, &source, text),
		"unicode": scalar(d.reader, "unicode", &wide, parseBool),
	}
	maps.Copy(known, more)
	d.fields(n, key, known)
	if len(d.problems) > before {
		return
	}
	var err error
	if e.Pattern, err = policy.ParseArgPattern(source, wide); err != nil {
		d.fail(n, "%s: %v", key, err)
	}
}

func (d *document) path(n *yaml.Node, e *policy.Element) {
	var root, kind string
	*e = policy.Element{Kind: policy.KindPath, Min: 1, Max: 1}
	known := d.countKeys(e)
	known["path"] = scalar(d.reader, "path", &root, choice("ws"))
	known["type"] = scalar(d.reader, "type", &kind, choice("any", "file", "dir"))
	known["snapshot"] = scalar(d.reader, "snapshot", &e.Snapshot, snapshot)
	d.fields(n, "path", known)
	e.Type = policy.FileType(kind)
	if kind == "" {
		e.Type = policy.TypeAny
	}
	if e.Snapshot == policy.SnapshotAll && e.Type == policy.TypeDir {
		d.fail(n, "path: snapshot takes files: a directory is not copied")
	}
}

func snapshot(s string) (policy.Snapshot, error) {
	copied, err := parseBool(s)
	if err != nil || copied {
		return policy.SnapshotAll, err
	}
	return policy.SnapshotNone, nil
}

func (d *document) opts(into *[]policy.Opt) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.each(n, "opts", func(key, value *yaml.Node) {
			w, ok := d.scalar(value, key.Value)
			if !ok {
				return
			}
			t, err := policy.ParseArgPattern(w, false)
			if err != nil {
				d.fail(value, "option %s: %v", key.Value, err)
				return
			}
			*into = append(*into, policy.Opt{Name: key.Value, Value: t})
		})
	}
}

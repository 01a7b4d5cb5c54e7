// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// Change is a new text of a configuration file, which is not written yet.
type Change struct {
	File          string
	Before, After []byte // Before is nil if there is no file
	Added         []policy.Learned
}

// AddLearned returns the change that adds rules to the approved lists of their commands in file. It omits rules that
// exist already.
func AddLearned(file string, rules []policy.Learned) (c Change, err error) {
	c.File = file
	if c.Before, err = readText(file); err != nil {
		return c, err
	}
	c.After, err = changed(file, c.Before, func(root *yaml.Node) error {
		for _, l := range rules {
			list, err := ruleNodes(root, l.Command, "approved")
			if err != nil {
				return err
			}
			if findRule(list, roleOf(file), l.Rule.ID) >= 0 {
				continue
			}
			list.Content = append(list.Content, learnedNode(l.Rule))
			c.Added = append(c.Added, l)
		}
		if len(c.Added) == 0 {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	return c, c.check()
}

// check returns an error unless the new text has all added rules, unchanged.
func (c Change) check() error {
	d, err := parseNew(c.File, c.After)
	if err != nil {
		return err
	}
	for _, l := range c.Added {
		list := d.commands[l.Command].Approved
		i := slices.IndexFunc(list, func(r policy.Rule) bool { return r.ID == l.Rule.ID })
		if i < 0 || !sameRule(list[i], l.Rule) {
			return fmt.Errorf("rule %s cannot be written as it is", l.Rule.Title(l.Command))
		}
	}
	return nil
}

// sameRule reports whether two rules are written in a file with the same text.
func sameRule(a, b policy.Rule) bool {
	return slices.Equal(nodeText(learnedNode(a)), nodeText(learnedNode(b)))
}

// nodeText returns all that a node contains.
func nodeText(n *yaml.Node) (all []string) {
	all = append(all, fmt.Sprint(n.Kind, n.Tag, n.Style, len(n.Content)), n.Value)
	for _, sub := range n.Content {
		all = append(all, nodeText(sub)...)
	}
	return all
}

// Diff returns the change as a unified diff of printable ASCII.
func (c Change) Diff() string {
	before := names.Escaped(c.File)
	if c.Before == nil {
		before = "/dev/null"
	}
	text := udiff.Unified(before, names.Escaped(c.File), string(c.Before), string(c.After))
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(names.Escaped(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// ErrChanged means that a file changed after a Change of it was made.
var ErrChanged = errors.New("it has changed meanwhile")

// Write writes the new text, if the file has the old one.
func (c Change) Write() error {
	return locked(c.File, func() error {
		now, err := readText(c.File)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, c.Before) || (now == nil) != (c.Before == nil) {
			return fmt.Errorf("write %s: %w", c.File, ErrChanged)
		}
		return replace(c.File, c.After)
	})
}

// learnedNode returns r as a rule of a file. Each text of a request is quoted, so that YAML does not interpret it.
func learnedNode(r policy.Rule) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	set := func(key string, value *yaml.Node) { n.Content = append(n.Content, plainNode(key), value) }
	set("id", plainNode(r.ID))
	if r.Confined {
		set("confined", plainNode("true"))
	}
	argv := flow(yaml.SequenceNode)
	for _, e := range r.Argv {
		argv.Content = append(argv.Content, elementNode(e))
	}
	set("argv", argv)
	if len(r.Effects) > 0 {
		set("effects", words(r.Effects, plainNode))
	}
	test := &yaml.Node{Kind: yaml.MappingNode}
	test.Content = []*yaml.Node{plainNode("yes"), lists(r.MustMatch), plainNode("no"), lists(r.MustNotMatch)}
	set("test", test)
	return n
}

// elementNode returns an element that Learn makes.
func elementNode(e policy.Element) *yaml.Node {
	n := flow(yaml.MappingNode)
	switch e.Kind {
	case policy.KindWord:
		return quotedNode(e.Words[0])
	case policy.KindAny:
		n.Content = []*yaml.Node{plainNode("any"), words(e.Words, quotedNode)}
	case policy.KindRegexp:
		n.Content = []*yaml.Node{plainNode("re"), quotedNode(e.Pattern.Source)}
	}
	return n // Change.check rejects an empty element
}

func words(all []string, node func(string) *yaml.Node) *yaml.Node {
	n := flow(yaml.SequenceNode)
	for _, w := range all {
		n.Content = append(n.Content, node(w))
	}
	return n
}

func lists(all [][]string) *yaml.Node {
	n := flow(yaml.SequenceNode)
	for _, args := range all {
		n.Content = append(n.Content, words(args, quotedNode))
	}
	return n
}

func flow(kind yaml.Kind) *yaml.Node { return &yaml.Node{Kind: kind, Style: yaml.FlowStyle} }

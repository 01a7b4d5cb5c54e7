// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/moby/sys/atomicwriter"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// ErrRuleDiffers means that a rule with the same title exists, but differs.
var ErrRuleDiffers = errors.New("this rule exists already, with other arguments, action, effects or accept")

// Add appends a rule to file and returns its title. The rule belongs to the command argv[0], matches exactly these
// arguments, and has r's Do, Effects and Accept. Comments in the file are kept, empty lines are not. If the same rule
// exists already, the file does not change.
func Add(file string, argv []string, r policy.Rule) (title string, err error) {
	if len(argv) == 0 {
		return "", errors.New("no command named")
	}
	id := addedID(argv, r.Do)
	title = argv[0] + "/" + id
	return title, edit(file, func(root *yaml.Node) error {
		rules, err := ruleNodes(root, argv[0], "rules")
		if err != nil {
			return err
		}
		rule := flow(yaml.MappingNode)
		rule.Content = []*yaml.Node{plainNode("id"), plainNode(id), plainNode("do"), plainNode(r.Do.String()), plainNode("argv"), words(argv[1:], quotedNode)}
		if len(r.Effects) > 0 {
			rule.Content = append(rule.Content, plainNode("effects"), words(r.Effects, plainNode))
		}
		if r.Accept {
			rule.Content = append(rule.Content, plainNode("accept"), plainNode(policy.CodeAccepted))
		}
		if at := findRule(rules, roleOf(file), id); at >= 0 {
			if !equalRule(rules.Content[at], rule) {
				return ErrRuleDiffers
			}
			return errUnchanged
		}
		rules.Content = append(rules.Content, rule)
		return nil
	})
}

// equalRule reports whether two rules have the same action, arguments, effects in any order, and accept.
func equalRule(a, b *yaml.Node) bool {
	for _, key := range []string{"do", "argv", "effects", "accept"} {
		x, y := values(lookup(a, key)), values(lookup(b, key))
		if key == "effects" {
			slices.Sort(x)
			slices.Sort(y)
			x, y = slices.Compact(x), slices.Compact(y)
		}
		if !slices.Equal(x, y) {
			return false
		}
	}
	return true
}

// values returns the value of n or, if n is a list, the kinds and values of its elements.
func values(n *yaml.Node) (all []string) {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return []string{n.Value}
	}
	for _, element := range n.Content {
		all = append(all, fmt.Sprint(element.Kind, element.Value))
	}
	return all
}

// ruleNodes returns the list of rules of a command at key, and creates it if necessary.
func ruleNodes(root *yaml.Node, command, key string) (*yaml.Node, error) {
	if err := CheckName(command); err != nil {
		return nil, fmt.Errorf("%s: %w", names.Quoted(command), err)
	}
	commands, err := child(root, "commands", yaml.MappingNode)
	if err != nil {
		return nil, err
	}
	n, err := child(commands, command, yaml.MappingNode)
	if err != nil {
		return nil, err
	}
	list, err := child(n, key, yaml.SequenceNode)
	if err == nil {
		list.Style = 0
	}
	return list, err
}

// addedID derives the id of a rule from argv and do, so that adding a rule twice has no effect.
func addedID(argv []string, do policy.Action) string {
	sum := sha256.Sum256([]byte(do.String() + "\x00" + strings.Join(argv, "\x00")))
	return "added-" + hex.EncodeToString(sum[:4])
}

// ErrNoRule means that the file has no rule with the given title.
var ErrNoRule = errors.New("there is no rule")

// Remove removes the rule with the title COMMAND/ID from file. It also removes a command that
// is then empty.
func Remove(file, title string) error {
	name, id, ok := strings.Cut(title, "/")
	if !ok {
		return fmt.Errorf("%s: a rule is named COMMAND/ID, as docker hostexec policy ls shows it", policy.CommandLine([]string{title}))
	}
	none := fmt.Errorf("%w %s in %s", ErrNoRule, policy.CommandLine([]string{title}), file)
	if text, err := readText(file); err == nil && text == nil {
		return none // without a file there is nothing to lock
	}
	return edit(file, func(root *yaml.Node) error {
		commands := lookup(root, "commands")
		command := lookup(commands, name)
		for _, key := range []string{"rules", "approved"} {
			rules := lookup(command, key)
			at := findRule(rules, roleOf(file), id)
			if at < 0 {
				continue
			}
			rules.Content = append(rules.Content[:at], rules.Content[at+1:]...)
			if len(rules.Content) == 0 {
				removeKey(command, key)
			}
			if len(command.Content) == 0 {
				removeKey(commands, name)
			}
			return nil
		}
		return none
	})
}

// findRule returns the index of the rule with the given id, or -1.
func findRule(rules *yaml.Node, r role, id string) int {
	if rules == nil {
		return -1
	}
	for i, rule := range rules.Content {
		if n := lookup(rule, "id"); n != nil && n.Value == id || n == nil && id == unnamedID(r, i+1) {
			return i
		}
	}
	return -1
}

// locked calls f, which changes file, while no other process does.
func locked(file string, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	lock := state.NewLock(file + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock %s: %w", file, err)
	}
	defer lock.Close()
	return f()
}

// edit changes a file atomically: a reader sees the old text or the new text. It writes only text that can be parsed.
func edit(file string, change func(root *yaml.Node) error) error {
	return locked(file, func() error { return editLocked(file, change) })
}

// editLocked is edit for a caller that has locked file.
func editLocked(file string, change func(root *yaml.Node) error) error {
	before, err := readText(file)
	if err != nil {
		return err
	}
	after, err := changed(file, before, change)
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	return replace(file, after)
}

// readText returns the text of a file, or nil if there is none.
func readText(file string) ([]byte, error) {
	text, _, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return text, nil
}

// errUnchanged is the result of a change that changes nothing.
var errUnchanged = errors.New("the file stays as it is")

// changed returns the text of file with a change of its nodes. If change returns errUnchanged, it returns text.
func changed(file string, text []byte, change func(root *yaml.Node) error) ([]byte, error) {
	d := &reader{file: file}
	root := d.parseYAML(text)
	if len(d.problems) > 0 {
		return nil, errors.New(d.problems[0].String())
	}
	doc := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}
	if root == nil {
		root = &yaml.Node{Kind: yaml.MappingNode, HeadComment: strings.TrimSpace(string(text))}
		root.Content = []*yaml.Node{plainNode("version"), plainNode("1")}
		doc.Content[0] = root
	}
	if err := change(root); errors.Is(err, errUnchanged) {
		return text, nil // also keeps the format
	} else if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(doc), enc.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", file, err)
	}
	return b.Bytes(), nil
}

// roleOf returns the role of a file on the host.
func roleOf(file string) role {
	if filepath.Base(filepath.Dir(file)) == "projects" {
		return project
	}
	return global
}

// parseNew parses the text that is to be written to file.
func parseNew(file string, text []byte) (*document, error) {
	d := parse(file, text, roleOf(file))
	switch {
	case len(d.problems) > 0:
		return nil, fmt.Errorf("not written, because the file would be broken: %s", d.problems[0])
	case len(text) > maxFile:
		return nil, fmt.Errorf("not written: %s would have %d bytes, at most %d are allowed", file, len(text), maxFile)
	}
	return d, nil
}

// replace writes file atomically if text can be parsed. The caller has locked it.
func replace(file string, text []byte) error {
	if _, err := parseNew(file, text); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // keeps the link of users who store the file elsewhere
	}
	if err := atomicwriter.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// lookup returns the value of key in a mapping, or nil.
func lookup(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// child is like lookup, but creates a missing value.
func child(n *yaml.Node, key string, kind yaml.Kind) (*yaml.Node, error) {
	c := lookup(n, key)
	switch {
	case c == nil:
		c = &yaml.Node{Kind: kind}
		n.Style = 0
		n.Content = append(n.Content, plainNode(key), c)
	case isNull(c):
		*c = yaml.Node{Kind: kind, HeadComment: c.HeadComment, LineComment: c.LineComment, FootComment: c.FootComment}
	case c.Kind != kind:
		return nil, fmt.Errorf("line %d: %s has the wrong type: docker hostexec policy check", c.Line, key)
	}
	return c, nil
}

func removeKey(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return
		}
	}
}

// plainNode returns a scalar without quotes.
func plainNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// quotedNode returns a quoted argument, so that YAML does not interpret it.
func quotedNode(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
}

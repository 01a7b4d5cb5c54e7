// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"slices"
)

// A command is shown, decided and written down as words: what the shell was created with,
// what the command has for itself, each behind its option, and its text last.
const (
	wordIn      = "--in" // as policy has it
	wordCreated = "--created-env"
	wordStart   = "--created-cwd"
	wordEnv     = "--env"
	wordDir     = "--cwd"
)

// Words returns c, for a shell that was created with o, as words.
func (o Options) Words(c Command) []string {
	var words []string
	if o.In != nil {
		words = append(words, wordIn, o.In.Name())
	}
	for _, kv := range o.Env {
		words = append(words, wordCreated, kv)
	}
	if dir := o.told(); dir != "" {
		words = append(words, wordStart, dir)
	}
	for _, kv := range c.Env {
		words = append(words, wordEnv, kv)
	}
	if c.Dir != "" {
		words = append(words, wordDir, c.Dir)
	}
	return append(words, c.Text)
}

// told is the directory that the words tell of, if they do.
func (o Options) told() string {
	if o.DirTold {
		return o.Dir
	}
	return ""
}

var errWords = errors.New("not the words of a command for this shell")

// ParseWords is the inverse of Words. Every option has a value and the text stands alone, so
// that no text is taken for an option. What the shell was created with has to be what o says:
// it is there already.
func (o Options) ParseWords(words []string) (c Command, err error) {
	var created []string
	in, start := "", ""
	for ; len(words) > 1; words = words[2:] {
		if len(words) < 3 {
			return c, errWords
		}
		switch value := words[1]; words[0] {
		case wordIn:
			in = value
		case wordCreated:
			created = append(created, value)
		case wordStart:
			start = value
		case wordEnv:
			c.Env = append(c.Env, value)
		case wordDir:
			c.Dir = value
		default:
			return c, errWords
		}
	}
	if len(words) == 0 || !slices.Equal(created, o.Env) || start != o.told() || o.In == nil && in != "" || o.In != nil && in != o.In.Name() {
		return c, errWords
	}
	c.Text = words[0]
	return c, nil
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"slices"
)

// The policy, questions and the audit log show a command as words. The settings of its shell come first, then its own
// settings, each behind its option, and its text last.
const (
	flagIn      = "--in" // as policy has it
	flagCreated = "--created-env"
	flagStart   = "--created-cwd"
	flagEnv     = "--env"
	flagDir     = "--cwd"
)

// Args returns c, for a shell that was created with o, as words that a policy matches and a person reads.
func (o Options) Args(c Command) []string {
	var words []string
	if o.In != nil {
		words = append(words, flagIn, o.In.Name())
	}
	for _, kv := range o.Env {
		words = append(words, flagCreated, kv)
	}
	if dir := o.dirInArgs(); dir != "" {
		words = append(words, flagStart, dir)
	}
	for _, kv := range c.Env {
		words = append(words, flagEnv, kv)
	}
	if c.Dir != "" {
		words = append(words, flagDir, c.Dir)
	}
	return append(words, c.Text)
}

// dirInArgs is the directory that the words contain, if any.
func (o Options) dirInArgs() string {
	if o.DirInArgs {
		return o.Dir
	}
	return ""
}

var errArgs = errors.New("not the words of a command for this shell")

// ParseArgs is the inverse of Args. Every option has a value, and the text is separate, so that no text is taken for an
// option. The settings of the shell must equal those in o, because the shell exists already.
func (o Options) ParseArgs(words []string) (c Command, err error) {
	var created []string
	in, start := "", ""
	for ; len(words) > 1; words = words[2:] {
		if len(words) < 3 {
			return c, errArgs
		}
		switch value := words[1]; words[0] {
		case flagIn:
			in = value
		case flagCreated:
			created = append(created, value)
		case flagStart:
			start = value
		case flagEnv:
			c.Env = append(c.Env, value)
		case flagDir:
			c.Dir = value
		default:
			return c, errArgs
		}
	}
	if len(words) == 0 || !slices.Equal(created, o.Env) || start != o.dirInArgs() || o.In == nil && in != "" || o.In != nil && in != o.In.Name() {
		return c, errArgs
	}
	c.Text = words[0]
	return c, nil
}

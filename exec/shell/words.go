// SPDX-License-Identifier: Apache-2.0

package shell

import "errors"

// A command is shown, decided and written down as words: what the shell was created with,
// what the command has for itself, each behind its option, and its text last.
const (
	wordCreated = "--created-env"
	wordEnv     = "--env"
	wordDir     = "--cwd"
)

// Words returns c, for a shell that was created with env, as words.
func (c Command) Words(env []string) []string {
	var words []string
	for _, kv := range env {
		words = append(words, wordCreated, kv)
	}
	for _, kv := range c.Env {
		words = append(words, wordEnv, kv)
	}
	if c.Dir != "" {
		words = append(words, wordDir, c.Dir)
	}
	return append(words, c.Text)
}

var errWords = errors.New("not the words of a command for a shell")

// ParseWords is the inverse of Words. Every option has a value and the text stands alone, so
// that no text is taken for an option.
func ParseWords(words []string) (c Command, env []string, err error) {
	for ; len(words) > 1; words = words[2:] {
		if len(words) < 3 {
			return c, nil, errWords
		}
		switch value := words[1]; words[0] {
		case wordCreated:
			env = append(env, value)
		case wordEnv:
			c.Env = append(c.Env, value)
		case wordDir:
			c.Dir = value
		default:
			return c, nil, errWords
		}
	}
	if len(words) == 0 {
		return c, nil, errWords
	}
	c.Text = words[0]
	return c, env, nil
}

// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// FuzzArgs checks that a command line is split into exactly the words that it was made of.
func FuzzArgs(f *testing.F) {
	f.Add("", "A=1\nB=2", "--env=x", "/w", "make test")
	f.Add("web", "", "", "", "--env")
	f.Add("--in", "A=--cwd", "--env", "", "")
	f.Fuzz(func(t *testing.T, in, created, env, dir, text string) {
		o := Options{Env: split(created), Dir: dir, DirInArgs: len(text)%2 == 0}
		if in != "" {
			o.In = called(in)
		}
		c := Command{Text: text, Dir: dir, Env: split(env)}
		words := o.Args(c)
		got, err := o.ParseArgs(words)
		if err != nil || got.Text != text || got.Dir != dir || !slices.Equal(got.Env, c.Env) {
			t.Errorf("ParseWords(%q) = %+v, %v", words, got, err)
		}
		for _, other := range []Options{
			{In: called(in + "x"), Env: o.Env, Dir: o.Dir, DirInArgs: o.DirInArgs},
			{In: o.In, Env: append(split(created), "C=3"), Dir: o.Dir, DirInArgs: o.DirInArgs},
			{In: o.In, Env: o.Env, Dir: o.Dir + "/x", DirInArgs: true},
		} {
			if _, err := other.ParseArgs(words); err == nil {
				t.Errorf("ParseWords(%q) of another shell's words", words)
			}
		}
		raw := append(split(env), text)
		if got, err := o.ParseArgs(raw); err == nil && got.Text != text {
			t.Errorf("ParseWords(%q) = %+v", raw, got)
		}
	})
}

// called is a container of that name, which nothing starts in.
type called string

func (c called) Name() string { return string(c) }

func (called) Program(context.Context) (io.ReadCloser, int64, error) { return nil, 0, nil }

func (called) Start(context.Context, []string, bool) (io.ReadWriteCloser, func(context.Context) (int, error), error) {
	return nil, nil, errors.ErrUnsupported
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

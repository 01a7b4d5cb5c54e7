// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/call"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/shell"
)

// sessionVerbs are the words, each with the options that it takes and whether it wants a
// name and a text.
var sessionVerbs = map[string]struct {
	options    []string
	name, text bool
}{
	"create": {options: []string{"--env", "--cwd", "--in"}, name: true},
	"exec":   {options: []string{"--env", "--cwd", "--timeout", "--json"}, name: true, text: true},
	"start":  {options: []string{"--env", "--cwd", "--timeout", "--json"}, name: true, text: true},
	"ls":     {options: []string{"--json"}},
	"rm":     {name: true},
}

// parseSession reads what follows a word: options, a name, and a text behind -- .
func parseSession(word string, args []string) (o call.ShellRequest, err error) {
	takes, ok := sessionVerbs[word]
	if !ok {
		return o, fmt.Errorf("session: unknown verb: %s", names.Quoted(word))
	}
	var words []string
	for len(args) > 0 && args[0] != "--" {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			words = append(words, arg)
			continue
		}
		option, value, given := strings.Cut(arg, "=")
		if !slices.Contains(takes.options, option) {
			return o, fmt.Errorf("session %s: unknown flag: %s", word, names.Quoted(option))
		}
		if option != "--json" && !given {
			if len(args) == 0 {
				return o, fmt.Errorf("session %s: %s wants a value", word, option)
			}
			value, args = args[0], args[1:]
		}
		if err := setOption(&o, option, value); err != nil {
			return o, err
		}
	}
	switch {
	case takes.name && len(words) != 1:
		return o, fmt.Errorf("session %s: wants the name of one shell", word)
	case !takes.name && len(words) > 0:
		return o, fmt.Errorf("session %s: takes no name", word)
	case takes.text && len(args) < 2:
		return o, fmt.Errorf("session %s: wants -- and a text after the name", word)
	case !takes.text && len(args) > 0:
		return o, fmt.Errorf("session %s: takes no text", word)
	}
	if takes.name {
		o.Name = words[0]
	}
	if takes.text {
		o.Text, o.Start = strings.Join(args[1:], " "), word == "start"
	}
	return o, shell.CheckEnv(o.Env)
}

func setOption(o *call.ShellRequest, option, value string) error {
	switch option {
	case "--env":
		o.Env = append(o.Env, value)
	case "--cwd":
		o.Dir = value
	case "--json":
		o.JSON = true
	case "--in":
		if !names.Container.Matches(value) {
			return fmt.Errorf("--in: %s cannot be the name of a container", names.Printable(call.Truncate(value)))
		}
		o.In = value
	case "--timeout":
		d, err := call.ParseTimeout(value)
		if err != nil {
			return fmt.Errorf("--timeout: %w: %s", err, names.Printable(call.Truncate(value)))
		}
		o.Timeout = d
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"path/filepath"
	"strings"
)

// envCall is what the arguments of env(1) in the first line of a script say.
type envCall struct {
	program string
	args    []string // of the program
	search  string   // the PATH in which it is searched for
}

// parseEnv reads args, where PATH is search otherwise.
func parseEnv(args []string, search string) envCall {
	for i := 0; i < len(args); i++ {
		word := strings.Trim(args[i], `"'`)
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case name == "--split-string":
			if args[i] = value; assigned {
				i-- // the value has arguments of its own
			}
		case strings.HasPrefix(word, "--"):
			if word == "--unset" || word == "--chdir" || word == "--argv0" {
				i++ // has a value
			}
		case strings.HasPrefix(word, "-"):
			at := strings.IndexAny(word, "SuCaP") // those with a value
			if at < 0 {
				continue
			}
			value := word[at+1:]
			switch {
			case word[at] == 'S' && value != "":
				args[i] = value
				i--
			case word[at] == 'S':
			case value == "":
				i++
				value = strings.Join(args[min(i, len(args)):min(i+1, len(args))], "")
			}
			if word[at] == 'P' {
				search = value
			}
		case assigned:
			if name == "PATH" {
				search = strings.ReplaceAll(value, "${PATH}", search)
			}
		default:
			return envCall{word, args[i+1:], search}
		}
	}
	return envCall{search: search}
}

// isEnv reports whether path is env(1), by its name or by that of what it links to.
func isEnv(path string) bool {
	real, _ := filepath.EvalSymlinks(path)
	return filepath.Base(path) == "env" || filepath.Base(real) == "env"
}

// find returns the path of the program, or by what the container chooses it.
func (c envCall) find(before string, owner Owner) (path, chosen string) {
	if c.search != before {
		for _, entry := range filepath.SplitList(c.search) {
			if !filepath.IsAbs(entry) || owner.Supplies(entry) {
				return "", "PATH=" + c.search
			}
		}
	}
	switch {
	case filepath.IsAbs(c.program):
		return c.program, ""
	case strings.Contains(c.program, "/"):
		return "", c.program // the directory of the call has it
	}
	path, _ = LookPath(c.program, c.search)
	return path, ""
}

// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// envCall holds the parsed arguments of env(1) in the first line of a script.
type envCall struct {
	program string
	args    []string // of the program
	search  string   // the PATH that env searches for the program
}

// parseEnv parses args. search is the PATH unless args set it.
func parseEnv(args []string, search string) envCall {
	for i := 0; i < len(args); i++ {
		word := strings.Trim(args[i], `"'`)
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case name == "--split-string":
			if args[i] = value; assigned {
				i-- // the value contains further arguments
			}
		case strings.HasPrefix(word, "--"):
			if word == "--unset" || word == "--chdir" || word == "--argv0" {
				i++ // skips the value
			}
		case strings.HasPrefix(word, "-"):
			at := strings.IndexAny(word, "SuCaP") // options with a value
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

// isEnv reports whether path is env(1), by its own name or the name of its link target.
func isEnv(path string) bool {
	real, _ := filepath.EvalSymlinks(path)
	return filepath.Base(path) == "env" || filepath.Base(real) == "env"
}

// find returns the path of the program, or the text by which the container selects the program.
func (c envCall) find(before string, access ContainerAccess) (path, chosen string) {
	if c.search != before {
		for _, entry := range filepath.SplitList(c.search) {
			if !filepath.IsAbs(entry) || access.ControlsFilesIn(entry) {
				return "", "PATH=" + c.search
			}
		}
	}
	switch {
	case filepath.IsAbs(c.program):
		return c.program, ""
	case strings.Contains(c.program, "/"):
		return "", c.program // relative to the directory of the call
	}
	path, _ = osenv.LookPath(c.program, c.search)
	return path, ""
}

// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ContainerAccess reports which files of the host a container can change. exec/mount.Table implements it.
type ContainerAccess interface {
	Writable(path string) bool       // the file itself, or a link or directory on its path
	ControlsFilesIn(dir string) bool // a file in the directory
	Writer(path string) string       // names the container that can change a path for which one of the above is true
	WritableSources() []string       // the real paths of the directories and files that are mounted writable
}

// Finding is a part of an environment with which a container could make the host run code.
type Finding struct {
	Name  string // of the variable
	Value string // the entry or path in it
	Why   string
	Then  string // the consequence
}

func (f Finding) String() string {
	return f.Name + " has " + strconv.QuoteToASCII(f.Value) + ", " + f.Why + ": " + f.Then
}

const (
	relativeReason = "which is in a directory of the caller's choice"

	settingsConsequence = "commands take settings from there, and the programs that these name"
)

// Environ returns env without the entries and variables through which a command would run code that the container can
// write. Some variables get the value /dev/null instead, and HOME stays, because no program works without it. found has
// all of these parts. Variables that do not name code are kept.
func Environ(env []string, access ContainerAccess) (kept []string, found []Finding) {
	kept = make([]string, 0, len(env))
	counted := false
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		k := kindOf(name)
		if k == noCode || value == "" && k != search {
			kept = append(kept, kv)
			continue
		}
		value, keep, some := k.clean(name, value, access)
		found = append(found, some...)
		if keep {
			kept = append(kept, name+"="+value)
		}
		counted = counted || !keep && strings.HasPrefix(name, "GIT_CONFIG_")
	}
	if counted { // git fails if a counted variable is missing
		kept = slices.DeleteFunc(kept, func(kv string) bool { return strings.HasPrefix(kv, "GIT_CONFIG_COUNT=") })
	}
	return kept, found
}

// Path returns path, a PATH, without the entries that the container controls. An empty PATH would
// mean the current directory, so Path returns the system's PATH instead.
func Path(path string, access ContainerAccess) (kept string, found []Finding) {
	kept, _, found = search.clean("PATH", path, access)
	return kept, found
}

// writableBy returns the reason of a Finding: the containers that can write path.
func writableBy(access ContainerAccess, path string) string {
	return "which " + access.Writer(path) + " can write"
}

const systemPath = "/usr/local/bin:/usr/bin:/bin"

// clean returns the safe part of a variable's value, and whether to keep the variable.
func (k kind) clean(name, value string, access ContainerAccess) (kept string, keep bool, found []Finding) {
	switch k {
	case search, list, defaulted, patterns, libraries:
		kept, found = k.entries(name, value, access)
		switch {
		case k == search && kept == "":
			return systemPath, true, found
		case len(found) == 0:
			return value, true, nil
		}
		return kept, kept != "", found
	}
	at, why := unsafePart(name, value, access)
	if why == "" {
		return value, true, nil
	}
	f := Finding{Name: name, Value: at, Why: why}
	switch k {
	case devNull:
		f.Then = "for commands it is " + os.DevNull
		return os.DevNull, true, []Finding{f}
	case settings:
		f.Then = settingsConsequence
		return value, true, []Finding{f}
	}
	f.Then = "commands do not have the variable"
	return "", false, []Finding{f}
}

// entries returns the entries of a list that the container does not control.
func (k kind) entries(name, value string, access ContainerAccess) (kept string, found []Finding) {
	sep := string(os.PathListSeparator)
	switch k {
	case patterns:
		sep = ";"
	case libraries:
		value = strings.ReplaceAll(value, " ", sep)
	}
	var rest []string
	for entry := range strings.SplitSeq(value, sep) {
		why := ""
		switch {
		case ofProcess(entry), !filepath.IsAbs(entry) && k.relative(entry):
			why = relativeReason
		case filepath.IsAbs(entry):
			if access.ControlsFilesIn(entry) {
				why = writableBy(access, entry)
			}
		}
		if why == "" {
			rest = append(rest, entry)
			continue
		}
		found = append(found, Finding{name, entry, why, "commands do without it"})
	}
	return strings.Join(rest, sep), found
}

// relative reports whether a relative entry means the directory of the call or a directory below
// it. The caller chooses this directory.
func (k kind) relative(entry string) bool {
	if k == search || k == list {
		return true
	}
	return strings.Contains(entry, "/") && entry[0] != '~' && entry[0] != '@'
}

// ofProcess reports whether path leads elsewhere in each process: /proc/self/cwd/bin is in the directory
// of the call.
func ofProcess(path string) bool {
	var at []string
	for name := range strings.SplitSeq(path, "/") {
		switch name {
		case "", ".":
		case "..":
			at = at[:max(len(at)-1, 0)]
		default:
			at = append(at, name)
		}
		if slices.Contains([]string{"/proc/self", "/proc/thread-self", "/dev/fd"}, "/"+strings.Join(at, "/")) {
			return strings.HasPrefix(path, "/")
		}
	}
	return false
}

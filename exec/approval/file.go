// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/moby/sys/atomicwriter"

	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// grantJSON is a grant in the JSON file, with a field for each value there. It encodes all bytes exactly. Until, Left
// and Always state how long the grant is valid. Exactly one of them must be set.
type grantJSON struct {
	ID        string        `json:"id"`
	Request   string        `json:"request"` // the request that led to the grant
	Args      []quotedBytes `json:"args"`
	Cwd       quotedBytes   `json:"cwd"`
	Dir       quotedBytes   `json:"dir"`
	Path      quotedBytes   `json:"path"`
	Rule      quotedBytes   `json:"rule"`
	Session   quotedBytes   `json:"session"`
	Container quotedBytes   `json:"container"`
	Project   quotedBytes   `json:"project"`
	Effects   []quotedBytes `json:"effects,omitempty"`
	Grade     quotedBytes   `json:"grade,omitempty"`
	Notes     []quotedBytes `json:"notes,omitempty"`
	User      quotedBytes   `json:"user"`
	Made      time.Time     `json:"made"`
	Until     time.Time     `json:"until,omitzero"`
	Left      int           `json:"left,omitempty"`   // calls
	Always    bool          `json:"always,omitempty"` // for this session
	Unchanged *inputs.Set   `json:"unchanged,omitempty"`

	Called []quotedBytes       `json:"called,omitempty"`
	Copied map[int]quotedBytes `json:"copied,omitempty"`
	Vary   *varyingJSON        `json:"vary,omitempty"`
}

// quotedBytes is a string of arbitrary bytes, quoted as in Go, because JSON strings hold only valid
// characters.
type quotedBytes string

func (e quotedBytes) MarshalText() ([]byte, error) {
	return []byte(strconv.QuoteToASCII(string(e))), nil
}

func (e *quotedBytes) UnmarshalText(b []byte) error {
	s, err := strconv.Unquote(string(b))
	if err != nil || strconv.QuoteToASCII(s) != string(b) {
		return fmt.Errorf("%s is not quoted as it should be", names.Quoted(string(b)))
	}
	*e = quotedBytes(s)
	return nil
}

// store writes list to file, unless file is empty. noun names an entry.
func store[F any](noun, file string, list []F) error {
	if file == "" {
		return nil
	}
	b, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = atomicwriter.WriteFile(file, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %ss: %w", noun, err)
	}
	return nil
}

// load reads the list that store wrote to file, if there is one. One invalid entry makes all of them invalid.
func load[F, T any](noun, file string, parse func(F) (T, error)) ([]T, error) {
	b, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []F
	if err == nil {
		err = names.DecodeJSON(b, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read %ss: %w", noun, err)
	}
	all := make([]T, len(list))
	for i, k := range list {
		if all[i], err = parse(k); err != nil {
			return nil, fmt.Errorf("read %ss: %s %d: %w", noun, noun, i+1, err)
		}
	}
	return all, nil
}

// maxStored is greater than the size of any list: an entry has at most the bytes of a request and of its files.
const maxStored = 256 << 20

// read returns the content of file. It does not wait for a named pipe, because the page reads these files, too. Only
// this user can put one there, so the file is not exchanged after the check.
func read(file string) ([]byte, error) {
	fi, err := os.Lstat(file)
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", names.Escaped(file))
	case fi.Size() > maxStored:
		return nil, fmt.Errorf("%s has more than %d MiB", names.Escaped(file), maxStored>>20)
	}
	return os.ReadFile(file)
}

var idForm = names.Form{Chars: "0-9a-f", Min: 16, Max: 16}

func (k grantJSON) check(session string) error {
	terms := 0
	for _, given := range []bool{!k.Until.IsZero(), k.Left > 0, k.Always} {
		if given {
			terms++
		}
	}
	switch {
	case !idForm.Matches(k.ID):
		return errors.New("it has no id")
	case len(k.Args) == 0 || k.Path == "" || k.Rule == "":
		return errors.New("it does not say what runs")
	case slices.ContainsFunc(slices.Collect(maps.Keys(k.Copied)), func(n int) bool { return n < 1 || n >= len(k.Args) }):
		return errors.New("a copied file is not one of its arguments")
	case string(k.Session) != session:
		return fmt.Errorf("it is of session %s", names.Quoted(string(k.Session)))
	case k.Made.IsZero() || k.Left < 0 || terms != 1:
		return errors.New("it does not say for how long")
	case k.Unchanged != nil && k.Vary != nil:
		return errors.New("it has an argument that varies, and files that must not change")
	case k.Unchanged != nil:
		return k.Unchanged.Check()
	}
	return k.checkVary()
}

func (g Grant) fileForm() grantJSON {
	q := g.Question
	return grantJSON{
		ID: g.ID, Request: q.ID, Args: exactArgs(q.Args), Cwd: quotedBytes(q.Cwd), Dir: quotedBytes(q.Dir), Path: quotedBytes(q.Path),
		Rule: quotedBytes(q.Rule), Session: quotedBytes(q.Session), Container: quotedBytes(q.Container), Project: quotedBytes(q.Project),
		Effects: exactArgs(q.Effects), Grade: quotedBytes(q.Grade), Notes: exactArgs(q.Notes),
		User: quotedBytes(g.User), Made: g.Made, Until: g.Until, Left: max(g.Left, 0), Always: g.Left == Unlimited && g.Until.IsZero(),
		Unchanged: g.Unchanged,
		Called:    exactArgs(q.Called), Copied: converted[quotedBytes](q.Copied), Vary: g.Varying.fileForm(),
	}
}

func exactArgs(list []string) (all []quotedBytes) {
	for _, s := range list {
		all = append(all, quotedBytes(s))
	}
	return all
}

// converted returns copied with values of another string type.
func converted[T, F ~string](copied map[int]F) map[int]T {
	var all map[int]T
	for n, word := range copied {
		if all == nil {
			all = map[int]T{}
		}
		all[n] = T(word)
	}
	return all
}

func texts(list []quotedBytes) (all []string) {
	for _, e := range list {
		all = append(all, string(e))
	}
	return all
}

func (k grantJSON) grant() Grant {
	q := Question{
		ID: k.Request, Args: texts(k.Args), Cwd: string(k.Cwd), Dir: string(k.Dir), Path: string(k.Path),
		Rule: string(k.Rule), Session: string(k.Session), Container: string(k.Container), Project: string(k.Project),
		Effects: texts(k.Effects), Grade: policy.Grade(k.Grade), Notes: texts(k.Notes), Called: texts(k.Called),
		Copied: converted[string](k.Copied),
	}
	g := Grant{ID: k.ID, Question: q, User: string(k.User), Made: k.Made, Until: k.Until, Left: k.Left, Unchanged: k.Unchanged, digest: q.Digest(), Varying: k.Vary.varying()}
	if k.Left == 0 {
		g.Left = Unlimited
	}
	return g
}

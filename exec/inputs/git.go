// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// gitOptions are options of git before its verb that lead to no other repository.
var gitOptions = grammar{flags: "pP", values: "c", longFlags: names.WordSet("no-pager paginate no-optional-locks literal-pathspecs no-replace-objects"), first: true}

// gitlinksName is the name of the list of gitlinks among the inputs.
const gitlinksName = ".git/index (gitlinks)"

// gitVars are variables that lead git to another repository, or to more configuration.
var gitVars = strings.Fields(`GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT
	GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE`)

// git reads the list of submodules and their commits, and the settings of the repository in the directory of the call.
// No git runs: the container may control the repository.
func (r *reader) git() error {
	options, positional, err := gitOptions.parse(r.Args, 1)
	switch {
	case err != nil:
		return err
	case len(positional) == 0:
		return errors.New("its arguments name no verb of git")
	case slices.ContainsFunc(options, func(o option) bool { return strings.HasPrefix(strings.ToLower(o.value), "include") }):
		return errors.New("-c may name more files with include")
	}
	d, err := r.Dir.OpenBelow(".git")
	if err != nil {
		return errors.New("the directory of the call has no directory .git")
	}
	d.Close()
	for _, name := range []string{".git/commondir", ".git/config", ".git/config.worktree", ".gitmodules"} {
		f, err := r.add(name)
		text := bytes.ToLower(f.content())
		switch {
		case err != nil:
			return err
		case name == ".git/commondir" && !f.Absent:
			return errors.New(".git has a part elsewhere: see its file commondir")
		case bytes.Contains(text, []byte("[include")):
			return fmt.Errorf("%s may name more files with include", name)
		case bytes.Contains(text, []byte("objectformat")):
			return errors.New("only indexes with SHA-1 are read")
		}
	}
	return r.gitlinks()
}

func (f *File) content() []byte {
	if f == nil {
		return nil
	}
	return f.Content
}

// gitlinks reads the list of submodules from the index. A repository without one has none.
func (r *reader) gitlinks() error {
	var list []byte
	f, err := r.open(".git/index")
	if err == nil {
		defer f.Close()
		var index []byte
		if index, err = io.ReadAll(io.LimitReader(f, maxBytes+1)); err == nil && len(index) > maxBytes {
			err = errBytes
		}
		if err == nil {
			list, err = parseGitlinks(index)
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf(".git/index: %w", err)
	}
	_, err = r.append(File{Path: gitlinksName, Size: int64(len(list)), SHA256: sum(list), Content: list})
	return err
}

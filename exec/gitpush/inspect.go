// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

const (
	maxCommits   = 20 // that a question shows
	maxStat      = 30 // files that a question shows
	maxNoteWidth = 120
	maxNewList   = 200_000 // new objects of one push
)

var (
	errObjects    = errors.New("missing necessary objects")
	errSmallFiles = errors.New("hostexec: too many small files in one push: push them in parts")
	errTooMany    = fmt.Errorf("hostexec: more than %d new objects in one push: push them in parts", maxNewList)
)

// inspect completes u with facts about its commits. It returns an error if u cannot be pushed completely.
func (s *service) inspect(ctx context.Context, u *Update, quarantine string) error {
	if u.New == s.mirror.zero() {
		u.Notes = s.note(*u, nil, nil, "")
		return nil
	}
	kind, err := s.read(ctx, quarantine, "", "cat-file", "-t", u.New)
	switch kind = strings.TrimSpace(kind); {
	case err != nil:
		return errObjects
	case strings.HasPrefix(u.Ref, branches) && kind != "commit", kind != "commit" && kind != "tag":
		return fmt.Errorf("hostexec: a %s, not a commit", names.Plain(kind))
	}
	if err := s.complete(ctx, u, quarantine); err != nil {
		return err
	}
	if u.Kind == Force {
		if _, err := s.read(ctx, quarantine, "", "merge-base", "--is-ancestor", u.Old, u.New); err == nil {
			u.Kind = Push
		}
	}
	return s.describe(ctx, u, quarantine)
}

// complete returns an error if objects are missing, or if the remote would also need files of Git LFS.
func (s *service) complete(ctx context.Context, u *Update, quarantine string) error {
	list, err := s.read(ctx, quarantine, "", "rev-list", "--objects", "--no-object-names", u.New, "--not", "--all")
	switch {
	case errors.Is(err, errOutput), strings.Count(list, "\n") > maxNewList:
		return errTooMany
	case errors.Is(err, errCostly):
		return err
	case err != nil:
		return errObjects
	case list == "":
		return nil
	}
	return s.refuseLFS(ctx, list, quarantine)
}

// lfsPointer is the beginning of a pointer of Git LFS: a file in the repository that stands for another file.
const lfsPointer = "version https://git-lfs.github.com/spec/"

// maxPointer is larger than any pointer of Git LFS, in bytes.
const maxPointer = 1 << 10

// refuseLFS refuses pointers of Git LFS, because a push does not contain the files that they stand for.
func (s *service) refuseLFS(ctx context.Context, list, quarantine string) error {
	sizes, err := s.read(ctx, quarantine, list, "cat-file", "--buffer", "--batch-check=%(objecttype) %(objectsize) %(objectname)")
	if err != nil {
		return errObjects
	}
	var small strings.Builder
	for line := range strings.Lines(sizes) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "blob" {
			continue
		}
		if n, err := strconv.Atoi(words[1]); err == nil && n <= maxPointer && n >= len(lfsPointer) {
			small.WriteString(words[2] + "\n")
		}
	}
	if small.Len() == 0 {
		return nil
	}
	contents, err := s.read(ctx, quarantine, small.String(), "cat-file", "--buffer", "--batch=pointer")
	if errors.Is(err, errOutput) {
		return errSmallFiles
	}
	if err != nil {
		return errObjects
	}
	if strings.HasPrefix(contents, "pointer\n"+lfsPointer) || strings.Contains(contents, "\npointer\n"+lfsPointer) {
		return errors.New("hostexec: the commits have files of Git LFS, which hostexec does not carry")
	}
	return nil
}

// describe sets the notes of u.
func (s *service) describe(ctx context.Context, u *Update, quarantine string) error {
	added, err := s.commits(ctx, quarantine, u.New, "--not", "--all")
	if err != nil {
		return err
	}
	var lost []string
	if u.Kind == Force || u.Kind == ForceTag {
		if lost, err = s.commits(ctx, quarantine, u.Old, "--not", u.New); err != nil {
			return err
		}
	}
	base, err := s.base(ctx, u, quarantine)
	if err != nil {
		return err
	}
	stat, err := s.read(ctx, quarantine, "", "diff", "--stat=100", "--stat-count="+strconv.Itoa(maxStat), "--no-color", "--no-ext-diff", "--no-textconv",
		"--no-renames", "--ignore-submodules=none", base, u.New, "--")
	if err != nil {
		return err
	}
	u.Notes = s.note(*u, added, lost, stat)
	return nil
}

// commits lists commits, newest first, at most one more than are shown.
func (s *service) commits(ctx context.Context, quarantine string, revisions ...string) ([]string, error) {
	args := append([]string{"log", "--no-color", "--no-decorate", "--no-mailmap", "--no-show-signature", "--encoding=UTF-8",
		"--format=%h %s", "--max-count=" + strconv.Itoa(maxCommits+1)}, revisions...)
	out, err := s.read(ctx, quarantine, "", append(args, "--")...)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n"), nil
}

// base returns the object with which the files of u are compared: the old commit, if there is one. Otherwise it is the
// merge base of the new commit and the remote's HEAD, or the empty tree.
func (s *service) base(ctx context.Context, u *Update, quarantine string) (string, error) {
	if u.Old != s.mirror.zero() {
		return u.Old, nil
	}
	if common, err := s.read(ctx, quarantine, "", "merge-base", "HEAD", u.New); err == nil {
		return strings.TrimSpace(common), nil
	}
	empty, err := s.read(ctx, quarantine, "", "hash-object", "-t", "tree", "--stdin")
	return strings.TrimSpace(empty), err
}

// note returns the lines that a person should read about u.
func (s *service) note(u Update, added, lost []string, stat string) []string {
	id := func(id string) string {
		if id == s.mirror.zero() {
			return "none"
		}
		return id
	}
	notes := []string{
		"remote " + u.Remote.Name + ": " + u.Remote.URL,
		string(u.Kind) + " " + u.Ref,
		"old " + id(u.Old),
		"new " + id(u.New),
	}
	notes = append(notes, titled("adds", added)...)
	notes = append(notes, titled("takes away", lost)...)
	for line := range strings.Lines(stat) {
		notes = append(notes, printableLine(strings.TrimSpace(line)))
	}
	return notes
}

// titled returns a list of commits for a person.
func titled(title string, commits []string) (notes []string) {
	for i, c := range commits {
		if i == maxCommits {
			return append(notes, "and more commits")
		}
		notes = append(notes, title+" "+printableLine(c))
	}
	return notes
}

// printableLine returns a line of the container in printable ASCII, cut to a width.
func printableLine(s string) string { return names.Shorten(names.Plain(s), maxNoteWidth) }

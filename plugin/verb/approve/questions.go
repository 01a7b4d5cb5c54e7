// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// wholeQuestion returns q with its complete text, which lists truncate.
func wholeQuestion(ctx context.Context, store *state.Store, q control.Question) (control.Question, error) {
	whole, err := control.Whole(ctx, store, q)
	if err != nil {
		return q, fmt.Errorf("request %s: %w", q.ID, err)
	}
	return whole, nil
}

// answering is a verb that answers requests.
type answering struct {
	cmd       *cobra.Command
	dockerCLI command.Cli
	done      string // approved
	answer    func(*control.Client, control.Question) error
}

// settle answers the requests that refs name by ID or by its beginning, and prints their IDs. Each of them is one
// request, also if others are the same.
func (a answering) settle(ctx context.Context, store *state.Store, refs []string) error {
	all, silent := control.AllPending(ctx, store)
	if silent != nil && len(all) == 0 {
		return silent
	}
	var errs []error
	var tried, settled []control.Question
	for _, ref := range refs {
		q, err := request(all, ref)
		var missing missingError
		if silent != nil && errors.As(err, &missing) {
			err = fmt.Errorf("no other session has request %s", names.Quoted(ref))
		}
		is := func(other control.Question) bool { return other.ID == q.ID }
		if err == nil && slices.ContainsFunc(settled, is) { // it is named twice
			continue
		}
		tried = append(tried, q)
		if err == nil {
			err = answerOne(ctx, store, q, a.answer)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		settled = append(settled, q)
		fmt.Fprintln(a.dockerCLI.Out(), q.ID)
	}
	if len(errs) > 0 && len(tried) > 1 {
		errs = append(errs, fmt.Errorf("%d of %s %s", len(settled), cli.Count(len(tried), "request"), a.done))
	}
	a.hintOthers(all, tried, settled)
	if len(errs) > 0 { // a session that does not answer may have the request
		errs = append([]error{silent}, errs...)
	}
	return errors.Join(errs...)
}

// hintOthers prints the command that gives the same answer to the requests that are the same as settled ones.
func (a answering) hintOthers(all, tried, settled []control.Question) {
	line := []string{"docker", "hostexec", a.cmd.Name()}
	a.cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Changed && f.Value.Type() == "bool":
			line = append(line, "--"+f.Name)
		case f.Changed:
			line = append(line, "--"+f.Name, f.Value.String())
		}
	})
	n := len(line)
	for _, q := range all {
		same := func(other control.Question) bool { return q.Group != "" && other.Group == q.Group }
		is := func(other control.Question) bool { return other.ID == q.ID }
		if slices.ContainsFunc(settled, same) && !slices.ContainsFunc(tried, is) && len(line) < n+control.MaxGroup {
			line = append(line, q.ID)
		}
	}
	if len(line) > n {
		cli.Say(a.dockerCLI.Err(), "hint: the same request waits elsewhere: %s", policy.CommandLine(line))
	}
}

func answerOne(ctx context.Context, store *state.Store, q control.Question, answer func(*control.Client, control.Question) error) error {
	id, session := q.ID, q.Session
	c := control.Dial(store.Dir(session))
	defer c.Close()
	q, err := control.Whole(ctx, store, q) // it has the digest that an answer needs
	if err == nil {
		err = answer(c, q)
	}
	if errors.Is(err, approval.ErrNoInputs) {
		return fmt.Errorf("request %s: %w: %s", id, err, q.NoInputs)
	}
	if errors.Is(err, approval.ErrUnknown) || errors.Is(err, control.ErrNoWatcher) {
		return fmt.Errorf("request %s does not wait any more", id)
	}
	return control.OfSession(session, err)
}

// minID is the minimum length of a given beginning of an ID. A container knows the IDs of its requests,
// and could repeat requests until one begins like the ID that a person has seen. For this length there is not
// enough time.
const minID = 8

// missingError is the ID of a request that does not wait.
type missingError string

func (ref missingError) Error() string {
	return "no request " + names.Quoted(string(ref)) + " waits for approval"
}

// request returns the request with the ID ref, or whose ID begins with ref.
func request(all []control.Question, ref string) (control.Question, error) {
	var ids []string
	for _, q := range all {
		ids = append(append(ids, q.ID), q.Waiting...) // the first caller may have left
	}
	hits := names.FindID(ids, func(id string) string { return id }, ref)
	found := slices.DeleteFunc(slices.Clone(all), func(q control.Question) bool {
		return !slices.ContainsFunc(hits, func(id string) bool { return id == q.ID || slices.Contains(q.Waiting, id) })
	})
	switch {
	case len(found) == 0:
		return control.Question{}, cli.Hint(missingError(ref), "docker hostexec pending")
	case len(ref) < minID && hits[0] != ref:
		return control.Question{}, fmt.Errorf("%s is too short for an id: give at least %d characters", names.Quoted(ref), minID)
	case len(found) > 1:
		return control.Question{}, fmt.Errorf("%s names %d requests: give more of the id", names.Quoted(ref), len(found))
	}
	return found[0], nil
}

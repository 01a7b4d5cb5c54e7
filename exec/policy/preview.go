// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of the arguments that a rule adds for a preview.
const (
	maxPreviewArgs = 16
	maxPreviewArg  = 200 // bytes
)

// CheckPreview returns an error unless added can be the preview of a rule.
func CheckPreview(added []string) error {
	switch {
	case len(added) == 0:
		return errors.New("there are no arguments: without one, the command would run")
	case len(added) > maxPreviewArgs:
		return fmt.Errorf("%d arguments, at most %d are allowed", len(added), maxPreviewArgs)
	}
	for _, arg := range added {
		if arg == "" || len(arg) > maxPreviewArg || strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("an argument has 1 to %d printable ASCII characters", maxPreviewArg)
		}
	}
	return nil
}

// PreviewArgs returns the arguments of the preview of v: those that run, with the added ones at their end. If a -- is
// among them, the added ones precede it, because behind it they would be no options.
func (v *Verdict) PreviewArgs() []string {
	at := slices.Index(v.Args, "--")
	if at < 1 {
		at = len(v.Args)
	}
	return slices.Insert(slices.Clone(v.Args), at, v.Preview...)
}

// neverAsks reports whether no call that r allows is asked about.
func (r *Rule) neverAsks(place Place) bool {
	return r.Do == Allow && (place.Confined() || r.Accept && (r.Anywhere || !r.freeArgs()))
}

// previews reports whether sandbox has an effect without where: sandbox, because it only lets previews read.
func (set *Ruleset) previews() bool {
	rest := set.Sandbox
	rest.Read = nil
	return rest.Empty() && slices.ContainsFunc(set.Rules, func(r Rule) bool { return len(r.Preview) > 0 })
}

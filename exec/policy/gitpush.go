// SPDX-License-Identifier: Apache-2.0

package policy

import "fmt"

// GitPush is the name of the command by which the container's git reaches remotes of the host.
// Its program is git. The host chooses its arguments:
//
//	fetch REMOTE              reads the remote; each push begins with it
//	push REMOTE BRANCH        adds commits to a branch, or creates it
//	force REMOTE BRANCH       moves a branch to commits that do not contain the old ones
//	delete REMOTE BRANCH
//	tag REMOTE TAG            creates a tag
//	force-tag REMOTE TAG      moves a tag
//	delete-tag REMOTE TAG
//	remote REMOTE URL         adds a remote that the container proposes
const GitPush = "git-push"

// GitHelper is the name under which git calls the shim, for URLs that begin with hostexec::.
const GitHelper = "git-remote-hostexec"

// gitPushActions are the actions of --proxy git-push for requests that no rule matches. Operations
// that are not listed need a rule.
var gitPushActions = map[string]Action{"fetch": Allow, "push": Ask, "remote": Ask}

// gitPush decides about a request of GitPush for which h is the strictest rule. No list applies.
func (d *decision) gitPush(h matchedRule) Verdict {
	switch {
	case h.rule != nil:
		return d.byRule(h)
	case !d.proxied:
		return Verdict{Reason: reasonUnknown}
	}
	v := d.byProxy()
	if v.Action == Deny || len(d.m.args) == 0 {
		v.Action = Deny
		return v
	}
	operation := d.m.args[0]
	action, known := gitPushActions[operation]
	switch {
	case !known:
		return Verdict{Rule: v.Rule, Command: v.Command, Reason: fmt.Sprintf("%s needs a rule that names it: commands.%s.rules", operation, GitPush)}
	case operation == "push" && d.explicit(): // --proxy git-push=allow
		return v
	}
	v.Action = min(v.Action, action)
	return v
}

// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Remote is a remote repository under the name that the host gave it.
type Remote struct{ Name, URL string }

var remoteName = names.Form{First: "A-Za-z0-9", Chars: "A-Za-z0-9._-", Min: 1, Max: 64}

// CheckName returns an error if name cannot be the name of a remote.
func CheckName(name string) error {
	if !remoteName.Matches(name) {
		return fmt.Errorf("%s is not the name of a remote: letters, digits and . _ -, at most 64", names.Quoted(name))
	}
	return nil
}

// maxURL limits a URL, in bytes.
const maxURL = 1 << 10

// scpLike is USER@HOST:PATH or HOST:PATH, as ssh reads it.
var scpLike = regexp.MustCompile(`^(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9_][A-Za-z0-9._-]*:[^:]`)

// CheckURL returns an error if the text cannot be the URL of a remote in the configuration.
func CheckURL(text string) error {
	if scheme, err := checkURL(text); err != nil {
		return err
	} else if scheme == "" {
		return fmt.Errorf("%s is not the URL of a repository: https://, http://, ssh://, git://, file://, USER@HOST:PATH or /PATH", names.Quoted(text))
	}
	return nil
}

// checkURL returns the protocol of the URL in git's words, or "" if there is none.
func checkURL(text string) (protocol string, err error) {
	switch {
	case text == "" || len(text) > maxURL || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("a URL has 1 to %d printable ASCII characters and no spaces", maxURL)
	case path.IsAbs(text):
		return "file", nil
	case !strings.Contains(text, "://"):
		if scpLike.MatchString(text) {
			return "ssh", nil
		}
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("this URL cannot be read")
	}
	if _, secret := u.User.Password(); secret {
		return "", errors.New("a URL with a password: git's credential helpers have passwords")
	}
	switch {
	case strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-"):
		return "", nil
	case u.Scheme == "file" && u.Host == "":
		return "file", nil
	case u.Host == "":
		return "", nil
	case u.Scheme == "ssh", u.Scheme == "https", u.Scheme == "http", u.Scheme == "git":
		return u.Scheme, nil
	}
	return "", nil
}

// proposable reports whether a container may propose a remote with this protocol. The other protocols name files of the
// host, or do not protect data in transit.
func proposable(protocol string) bool { return protocol == "ssh" || protocol == "https" }

// Remotes maps the names of the remotes that the host knows to their URLs.
type Remotes map[string]string

// UnknownError is the error for a remote that the host does not know. If Proposed has a name, a person can add it.
type UnknownError struct {
	Proposed Remote
	reason   string
}

func (e *UnknownError) Error() string { return e.reason }

// Find returns the remote for git in the container. address is a name, or a URL without hostexec::. name is the
// container's name of the remote.
func (r Remotes) Find(name, address string) (Remote, error) {
	if CheckName(address) == nil {
		if u, ok := r[address]; ok {
			return Remote{address, u}, nil
		}
		return Remote{}, &UnknownError{reason: fmt.Sprintf("the host has no remote %s: on the host, config.yaml or projects/NAME.yaml names it: git: {remotes: {%s: URL}}", address, address)}
	}
	address = withoutUser(address)
	protocol, err := checkURL(address)
	if err != nil {
		return Remote{}, &UnknownError{reason: err.Error()}
	}
	for known, u := range r {
		if u == address {
			return Remote{known, u}, nil
		}
	}
	if !proposable(protocol) {
		return Remote{}, &UnknownError{reason: fmt.Sprintf("%s is no remote of the host, and only https:// and ssh can be proposed: git: {remotes: {NAME: URL}} in the host's config.yaml adds it", names.Quoted(address))}
	}
	if CheckName(name) != nil { // git was called with the URL alone
		name = strings.TrimSuffix(address[strings.LastIndexAny(address, "/:")+1:], ".git")
	}
	if err := CheckName(name); err != nil {
		return Remote{}, &UnknownError{reason: err.Error()}
	}
	if u, ok := r[name]; ok {
		return Remote{}, &UnknownError{reason: fmt.Sprintf("the host's remote %s is %s, not %s: call it by another name, or change git: remotes: in the host's configuration", name, names.Printable(u), names.Quoted(address))}
	}
	return Remote{}, &UnknownError{Proposed: Remote{name, address}, reason: fmt.Sprintf("%s is no remote of the host", names.Quoted(address))}
}

// Setup returns the line that a user of a container types so that its git reaches the repository's remote origin by
// way of the host.
func (r Remotes) Setup() string {
	const url = `"$(git config remote.origin.url)"`
	if _, known := r["origin"]; known {
		return `git config --global url.hostexec::origin.insteadOf ` + url
	}
	return `git config --global "url.hostexec::$(git config remote.origin.url).insteadOf" ` + url
}

// withoutUser returns an http or https URL without user and password, because the host has the credentials.
func withoutUser(text string) string {
	if u, err := url.Parse(text); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.User != nil {
		u.User = nil
		return u.String()
	}
	return text
}

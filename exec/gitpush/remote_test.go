// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	for url, good := range map[string]bool{
		"git@github.com:me/r.git": true, "github.com:r.git": true, "https://github.com/me/r.git": true, "http://host/r": true, "ssh://git@host:22/r": true,
		"git://host/r": true, "file:///srv/r.git": true, "/srv/r.git": true,
		"": false, "r.git": false, "../r.git": false, "ext::sh -c x": false, "ext::x": false, "fd::7": false, "hostexec::origin": false, "-oProxyCommand=x:y": false,
		"ssh://-oProxyCommand=x/y": false, "ssh://-x@host/y": false, "https://me:secret@host/r": false, "https://host/a\nb": false, "https:///r": false, "file://host/r": false, "ftp://host/r": false,
		"https://" + strings.Repeat("x", 2000): false, "https://h\x1b/r": false,
	} {
		if err := CheckURL(url); (err == nil) != good {
			t.Errorf("CheckURL(%q) = %v", url, err)
		}
	}
}

func TestFind(t *testing.T) {
	known := Remotes{"origin": "git@github.com:me/r.git", "up": "https://github.com/up/r.git"}
	for _, tt := range []struct {
		name, address string
		want          Remote // found
		proposed      Remote
	}{
		{"origin", "origin", Remote{"origin", "git@github.com:me/r.git"}, Remote{}},
		{"any", "up", Remote{"up", "https://github.com/up/r.git"}, Remote{}},
		{"origin", "https://github.com/up/r.git", Remote{"up", "https://github.com/up/r.git"}, Remote{}},
		{"x", "https://token:secret@github.com/up/r.git", Remote{"up", "https://github.com/up/r.git"}, Remote{}},
		{"fork", "https://token:secret@github.com/me/fork", Remote{}, Remote{"fork", "https://github.com/me/fork"}},
		{"fork", "git@github.com:me/fork", Remote{}, Remote{"fork", "git@github.com:me/fork"}},
		{"origin", "git@github.com:me/other", Remote{}, Remote{}}, // the name is taken
		{"hostexec::x", "git@github.com:me/other.git", Remote{}, Remote{"other", "git@github.com:me/other.git"}},
		{"hostexec::x", "git@github.com:.git", Remote{}, Remote{}},
		{"x", "other", Remote{}, Remote{}},
		{"x", "/etc", Remote{}, Remote{}},
		{"x", "file:///etc", Remote{}, Remote{}},
		{"x", "http://github.com/up/r.git", Remote{}, Remote{}},
		{"x", "git://github.com/up/r.git", Remote{}, Remote{}},
		{"x", "ext::sh", Remote{}, Remote{}},
		{"x", "../origin", Remote{}, Remote{}},
	} {
		got, err := known.Find(tt.name, tt.address)
		var unknown *UnknownError
		if errors.As(err, &unknown) && unknown.Proposed != tt.proposed || got != tt.want || (err == nil) != (tt.want != Remote{}) {
			t.Errorf("Find(%q, %q) = %v, %v", tt.name, tt.address, got, err)
		}
	}
}

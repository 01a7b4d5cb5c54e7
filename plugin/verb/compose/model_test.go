// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/mount"
)

func TestChoose(t *testing.T) {
	const two = "services: {a: {image: x, x-hostexec: %s}, b: {image: x%s}}\n%s"
	make := Settings{"proxy": {"make"}}
	tests := []struct {
		name, model string
		named       []string
		given       Settings
		want        string // of fmt
		err         string
	}{
		{"by itself", fmt.Sprintf(two, "{proxy: [make, git=ask]}", "", ""), nil, nil, "map[a:map[proxy:[make git=ask]]]", ""},
		{"one word", fmt.Sprintf(two, "{proxy: make}", "", ""), nil, nil, "map[a:map[proxy:[make]]]", ""},
		{"with the top's", fmt.Sprintf(two, "true", "", "x-hostexec: {proxy: [x], workspace: .}"), nil, nil, "map[a:map[proxy:[x] workspace:[.]]]", ""},
		{"over the top's", fmt.Sprintf(two, "{proxy: y}", "", "x-hostexec: {proxy: [x], workspace: .}"), nil, nil, "map[a:map[proxy:[y] workspace:[.]]]", ""},
		{"by the top", fmt.Sprintf(two, "{}", "", "x-hostexec: {proxy: x, service: [b]}"), nil, nil, "map[a:map[proxy:[x]] b:map[proxy:[x]]]", ""},
		{"but not", fmt.Sprintf(two, "false", "", "x-hostexec: {proxy: x, service: [a, b]}"), nil, nil, "map[b:map[proxy:[x]]]", ""},
		{"given to all", fmt.Sprintf(two, "{proxy: y, carrier: relay}", "", ""), nil, make, "map[a:map[carrier:[relay] proxy:[make]]]", ""},
		{"given to one", fmt.Sprintf(two, "{proxy: y}", "", ""), []string{"b"}, make, "map[a:map[proxy:[y]] b:map[proxy:[make]]]", ""},
		{"the only one", "services: {a: {image: x}}", nil, make, "map[a:map[proxy:[make]]]", ""},
		{"dollars are doubled", fmt.Sprintf(two, "{proxy: 'a=/$$x'}", "", ""), nil, nil, "map[a:map[proxy:[a=/$x]]]", ""},

		{"nothing", "services: {a: {image: x}}", nil, nil, "", "no service is chosen"},
		{"which", "services: {a: {image: x}, b: {image: x}}", nil, make, "", "(there are a, b)"},
		{"no such", "services: {a: {image: x}}", []string{"z"}, make, "", `no such service: z`},
		{"no such in the file", "services: {a: {image: x}}\nx-hostexec: {service: z}", nil, nil, "", `no such service: z`},
		{"a service of a service", "services: {a: {x-hostexec: {service: b}}}", nil, nil, "", "services.a.x-hostexec: service"},
		{"a list", "services: {a: {x-hostexec: [make]}}", nil, nil, "", "services.a.x-hostexec: it is a mapping"},
		{"deep", "services: {a: {x-hostexec: {proxy: {a: b}}}}", nil, nil, "", "proxy: it is a word"},
		{"deeper", "services: {a: {x-hostexec: {proxy: [[a]]}}}", nil, nil, "", "its values are words"},
		{"null", "services: {a: {x-hostexec: {proxy: null}}}", nil, nil, "", "it has no value"},
		{"a provider", "services: {a: {provider: {type: x}, x-hostexec: true}}", nil, nil, "", "is a provider's"},
		{"twice", "services: {h: {provider: {type: hostexec, options: {service: [a]}}}, a: {x-hostexec: true}}", nil, nil, "", "from the provider h already"},
	}
	for _, tt := range tests {
		m, err := Read([]byte(tt.model))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := m.Choose(tt.named, tt.given)
		if tt.err == "" && (err != nil || fmt.Sprint(got) != tt.want) {
			t.Errorf("%s: %v, %v, want %s", tt.name, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, %v, want an error with %q", tt.name, got, err, tt.err)
		}
	}
}

// FuzzChoose: whatever stands in a compose file is chosen or refused. Nothing is chosen that the file does not
// have.
func FuzzChoose(f *testing.F) {
	f.Add("services: {a: {x-hostexec: {proxy: [make]}}}\nx-hostexec: {service: a}")
	f.Add("services: {a: &x {x-hostexec: true}, b: *x}")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Read([]byte(text))
		if err != nil {
			return
		}
		chosen, err := m.Choose(nil, nil)
		for name := range chosen {
			if _, ok := m.Services[name]; !ok || err != nil {
				t.Errorf("%q is chosen, and %v", name, err)
			}
		}
	})
}

// TestOverride holds an override to what compose is to read: dollars doubled, and the same each time.
func TestOverride(t *testing.T) {
	a := Addition{Service: "web", Path: "/run/hostexec/bin:/a$b", Labels: map[string]string{"b": "2", "a": "1"}, WorkingDir: "/w$", Mounts: []mount.Mount{
		{Type: mount.TypeBind, Source: "/s", Target: "/run/hostexec", ReadOnly: true},
		{Type: mount.TypeTmpfs, Target: "/t", TmpfsOptions: &mount.TmpfsOptions{SizeBytes: 65536, Mode: 0o755}},
	}}
	first, err := Override(a, Addition{Service: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := Override(a, Addition{Service: "yes"}); string(again) != string(first) {
			t.Fatalf("%s\nand then\n%s", first, again)
		}
	}
	if !strings.Contains(string(first), "/a$$b") || !strings.Contains(string(first), "/w$$") {
		t.Errorf("a dollar is alone: %s", first)
	}
	m, err := Read(first)
	if err != nil {
		t.Fatal(err)
	}
	web := m.Services["web"]
	if p, _ := web.Path(); p != a.Path || web.WorkingDir != a.WorkingDir || len(m.Services) != 2 {
		t.Errorf("read again it is %+v", m)
	}
	if v := web.Volumes[0]; v.Source != "/s" || !v.ReadOnly || v.Type != "bind" {
		t.Errorf("the share is %+v", v)
	}
	if !strings.Contains(string(first), "create_host_path: false") || !strings.Contains(string(first), fmt.Sprint("mode: ", 0o755)) {
		t.Errorf("it makes a missing share, or its relay's place is not as the engine's: %s", first)
	}
}

func TestImageOf(t *testing.T) {
	m, err := Read([]byte("name: p\nservices: {a: {image: x}, b: {build: .}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		compat     bool
	}{{"a", "x", false}, {"b", "p-b", false}, {"b", "p_b", true}} {
		if got := m.ImageOf(tt.name, tt.compat); got != tt.want {
			t.Errorf("ImageOf(%q, %t) = %q, want %q", tt.name, tt.compat, got, tt.want)
		}
	}
}

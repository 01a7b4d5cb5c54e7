// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCreateReached checks that no form of a request that an engine takes for a creation passes unedited. The engine's
// router is gorilla/mux, here as strict as net/http can be: the decoded path counts.
//
// Attack 245.
func TestCreateReached(t *testing.T) {
	got := make(chan string, 1)
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
		w.WriteHeader(http.StatusTeapot)
	})
	proxy, _ := startProxy(t, engine, newLabeler())
	body := `{"Image":"x","N":12345678901234567890.10,"Unknown":{"a":[null,true,"<"]}}`
	want := `{"Image":"x","Labels":{"edited":"n"},"N":12345678901234567890.10,"Unknown":{"a":[null,true,"<"]}}`
	for _, target := range []string{
		"/containers/create?name=n", "/v1.41/containers/create?name=n", "/v9/containers/create?name=n", "/v1.24.0../containers/create?name=n",
		"/v1.41/containers/%63reate?name=n", "/%76%31/%63ontainers/create?name=n", "/v1.41%2Fcontainers%2fcreate?name=n",
		"http://docker/v1.41/containers/create?name=n", "//containers/create?name=n", "/v1.41//containers/./create?name=n",
		"/v1.41/containers/create/?name=n", "/x/../containers/create?name=n", "/V1.41/Containers/CREATE?name=n",
		"/containers/create?x=;&name=n",
	} {
		for _, head := range []string{
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
			fmt.Sprintf("Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n%x\r\n%s\r\n0\r\nX: y\r\n\r\n", len(body), body),
			fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
			fmt.Sprintf("Upgrade: tcp\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		} {
			answer := sendRaw(t, proxy, "POST "+target+" HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Type: application/json\r\n"+head)
			select {
			case b := <-got:
				if b != want {
					t.Errorf("POST %s: the engine got %q, want %q", target, b, want)
				}
			default:
				t.Errorf("POST %s: the engine got nothing: %q", target, answer)
			}
		}
	}
}

// TestCreateOverHTTP2 checks that a creation is edited over HTTP/2, too.
func TestCreateOverHTTP2(t *testing.T) {
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.Proto, " ")
		io.Copy(w, r.Body)
	})
	proxy, _ := startProxy(t, engine, newLabeler())
	c := httpClient(proxy, true)
	defer c.CloseIdleConnections()
	r, err := c.Post("http://d/v1.41/containers/create?name=n", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); string(b) != `HTTP/2.0 {"Labels":{"edited":"n"}}` {
		t.Errorf("the engine got %q", b)
	}
}

// TestRefused checks that refusals have the format of the engine's errors, and that the engine gets nothing.
//
// Attacks 246, 247, 257, 267.
func TestRefused(t *testing.T) {
	m := newLabeler()
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isInspect(r) {
			io.WriteString(w, `{"Id":"a"}`)
			return
		}
		t.Error("the engine was asked")
	}), m)
	for _, tt := range []struct {
		name, path, body, want string
		status                 int
	}{
		{"no JSON", "/containers/create", "{", "unexpected EOF", 400},
		{"keys", "/containers/create", `{"HostConfig":{},"hostconfig":{}}`, `the key \"HostConfig\" is there twice, or in another case`, 400},
		{"too much", "/containers/create", `{"Cmd":"` + strings.Repeat("x", maxBody) + `"}`, "more than 16 MiB", 413},
		{"many parts", "/containers/create", `{"Cmd":[` + strings.Repeat("1,", maxTokens) + `1]}`, "more than 200000 keys and values", 400},
		{"a start with a configuration", "/v1.23/containers/a/start", `{"Binds":["/:/x"]}`, "API 1.24", 400},
	} {
		r, err := httpClient(proxy, false).Post("http://d"+tt.path, "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		var e struct{ Message *string }
		if err := json.Unmarshal(b, &e); err != nil || e.Message == nil || r.StatusCode != tt.status ||
			!strings.HasPrefix(*e.Message, "hostexec: ") || !strings.Contains(string(b), tt.want) {
			t.Errorf("%s: %s %s, want %d %s", tt.name, r.Status, b, tt.status, tt.want)
		}
	}
	m.refuse = errors.New("a mount at /x\x1b[2J\u202e\nis in the way")
	if got := sendRaw(t, proxy, "POST /containers/a/start HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n"); !strings.HasSuffix(got, `{"message":"hostexec: a mount at /x\\x1b[2J\\u202e\nis in the way"}`+"\n") {
		t.Errorf("a terminal's sequence: %q", got)
	}
	m.refuse = errors.New("not this one")
	for _, path := range []string{"/containers/create", "/containers/a/start", "/v1.41/containers/a/restart?t=1"} {
		r, err := httpClient(proxy, false).Post("http://d"+path, "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 403 || string(b) != `{"message":"hostexec: not this one"}`+"\n" {
			t.Errorf("POST %s: %s %s", path, r.Status, b)
		}
	}
}

// TestCreatedOnce checks that Sessions is told once how a creation ended, even if the client has
// left.
func TestCreatedOnce(t *testing.T) {
	m := newLabeler()
	asked, answer := make(chan bool, 1), make(chan bool)
	proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/json") {
			fmt.Fprint(w, `{"Id":"abc","Mounts":[]}`)
			return
		}
		asked <- true
		<-answer
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"Id":"abc","Warnings":[]}`)
	}), m)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://d/containers/create", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	// ends with leave
	go func() { _, err := httpClient(proxy, false).Do(req); gone <- err }()
	<-asked
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(answer)
	select {
	case id := <-m.created:
		if id != "abc" {
			t.Errorf("Sessions heard of %q, want abc", id)
		}
	case <-time.After(time.Minute):
		t.Fatal("Sessions heard nothing")
	}
	if len(m.created) > 0 {
		t.Error("Sessions heard twice")
	}
}

// retrier is an implementation of Sessions that edits a creation, and edits it in another way after a refusal.
type retrier struct {
	again    bool
	err      error
	created  []string // ids, or "" without a container
	refusals []string
}

func (c *retrier) Create(_ context.Context, req *CreateRequest) (func(context.Context, string) error, error) {
	req.Body["Labels"] = map[string]any{"try": "1"}
	req.Refused = func(_ context.Context, refusal error) (bool, error) {
		c.refusals = append(c.refusals, refusal.Error())
		req.Body = map[string]any{"Labels": map[string]any{"try": "2"}}
		return c.again, c.err
	}
	return func(_ context.Context, id string) error { c.created = append(c.created, id); return nil }, nil
}

func (c *retrier) Start(context.Context, string) error { return nil }

// TestRefusedByEngine has the engine refuse the first attempt to create a container.
func TestRefusedByEngine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		again  bool
		err    error
		answer string
		made   string
	}{
		{"another try", true, nil, `201 {"Id":"abc","Warnings":[]}`, "abc"},
		{"none", false, nil, `400 {"message":"try 1"}`, ""},
		{"a better message", false, errors.New("why"), `403 {"message":"hostexec: why"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &retrier{again: tt.again, err: tt.err}
			proxy, _ := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				switch {
				case r.Method == http.MethodGet:
					fmt.Fprint(w, `{"Id":"abc","Mounts":[]}`)
				case strings.Contains(string(text), `"try":"2"`):
					w.WriteHeader(http.StatusCreated)
					fmt.Fprint(w, `{"Id":"abc","Warnings":[]}`)
				default:
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprint(w, `{"message":"try 1"}`)
				}
			}), c)
			r, err := httpClient(proxy, false).Post("http://d/containers/create", "application/json", strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			b, _ := io.ReadAll(r.Body)
			if got := fmt.Sprint(r.StatusCode, " ", strings.TrimSpace(string(b))); got != tt.answer {
				t.Errorf("the answer is %s, want %s", got, tt.answer)
			}
			if len(c.refusals) != 1 || len(c.created) != 1 || c.created[0] != tt.made {
				t.Errorf("Sessions heard of the refusals %q, and of the containers %q", c.refusals, c.created)
			}
		})
	}
}

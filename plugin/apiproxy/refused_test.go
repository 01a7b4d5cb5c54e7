// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

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

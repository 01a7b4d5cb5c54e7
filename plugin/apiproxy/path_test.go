// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/gorilla/mux"
)

// FuzzPath checks that the proxy recognises each request that the engine's router takes for the creation or the start
// of a container, and finds the same container.
//
// Attack 245.
func FuzzPath(f *testing.F) {
	for _, target := range []string{
		"/containers/create?name=x", "/v1.41/containers/create", "/v1.41/containers/a/start", "/containers/a%2fb/restart", "/v1.41/containers/create/start",
		"/v1.41//containers/create", "/v1.41/containers/%63reate", "/v1.41/containers/../containers/create", "/containers/containers/create", "//containers/create/",
	} {
		f.Add("POST", target)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		r := &http.Request{Method: method, URL: u, Header: http.Header{}, ProtoMajor: 1}
		m := mux.NewRouter()
		for _, version := range []string{"/v{version:[0-9.]+}", ""} { // as in the engine's server and its container router
			m.Path(version + "/containers/create").Methods(http.MethodPost).HandlerFunc(func(http.ResponseWriter, *http.Request) {
				if !isCreate(r) {
					t.Errorf("%s %q creates a container for the engine, but not for the proxy", method, target)
				}
			})
			for _, verb := range []string{"start", "restart"} {
				m.Path(version + "/containers/{name:.*}/" + verb).Methods(http.MethodPost).HandlerFunc(func(_ http.ResponseWriter, routed *http.Request) {
					if id, ok := isStart(r); !ok || id != mux.Vars(routed)["name"] {
						t.Errorf("%s %q starts %q for the engine, and for the proxy %v, %q", method, target, mux.Vars(routed)["name"], ok, id)
					}
				})
			}
		}
		m.ServeHTTP(httptest.NewRecorder(), r)
	})
}

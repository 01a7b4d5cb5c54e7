// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/subtle"
	"net/http"
	"path"
	"strings"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

// tokenHeader is the header with the token. A browser asks a server before it sends a custom header to another origin,
// and never adds the header by itself, unlike a cookie.
const tokenHeader = "X-Hostexec-Token"

// contentSecurityPolicy allows the browser to load from this origin only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

var headers = map[string]string{
	"Content-Security-Policy":      contentSecurityPolicy,
	"X-Frame-Options":              "DENY",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// guard rejects requests that are not allowed. A rejected request has no effect.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if code, why := p.refusal(r); code != 0 {
			control.Reply(w, code, problem{Error: why, Revoked: why == revoked})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusal returns the status and reason if r must be rejected, or 0.
func (p *Page) refusal(r *http.Request) (code int, why string) {
	origins, reads := r.Header.Values("Origin"), r.Method == http.MethodGet
	switch {
	case "http://"+r.Host != p.address.Origin: // for example after DNS rebinding
		return http.StatusMisdirectedRequest, "this is " + p.address.Origin
	case !reads && r.Method != http.MethodPost && r.Method != http.MethodDelete:
		return http.StatusMethodNotAllowed, "GET, POST or DELETE"
	case r.URL.RawPath != "" || r.URL.Path != path.Clean(r.URL.Path):
		return http.StatusNotFound, "no such page"
	case len(origins) > 1 || len(origins) == 1 && origins[0] != p.address.Origin,
		len(origins) == 0 && !reads:
		return http.StatusForbidden, "from another origin"
	case !sameSite(r):
		return http.StatusForbidden, "from another site"
	case !reads && r.ContentLength != 0 && r.Header.Get("Content-Type") != "application/json":
		return http.StatusUnsupportedMediaType, "a body has to be application/json"
	case !needsNoToken(r) && !p.address.hasToken(r):
		return p.refuseIssued(r)
	}
	return 0, ""
}

// refuseIssued returns the refusal of a request without the page's own token, unless it has a token that was issued for
// a code and not revoked.
func (p *Page) refuseIssued(r *http.Request) (code int, why string) {
	switch t := p.issuedToken(r); {
	case t == nil:
		return http.StatusUnauthorized, "no token, or not this page's: docker hostexec ui has the address"
	case t.isRevoked():
		return http.StatusUnauthorized, revoked
	}
	return 0, ""
}

// issuedToken returns the token in r, if it was issued for a code. It returns nil for the page's own token, and without
// a token.
func (p *Page) issuedToken(r *http.Request) *issued {
	got := r.Header.Values(tokenHeader)
	if len(got) != 1 {
		return nil
	}
	return p.tokens.find(got[0])
}

// sameSite reports whether this page or the user caused r, by the browser's headers. Links to the page are
// allowed from everywhere, frames are not.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.URL.Path == "/" && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// needsNoToken reports whether r needs no token: public files, and the exchange of a code for a token.
func needsNoToken(r *http.Request) bool {
	if r.Method == http.MethodPost {
		return r.URL.Path == "/token"
	}
	return r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/static/")
}

func (a Address) hasToken(r *http.Request) bool {
	got := r.Header.Values(tokenHeader)
	return len(got) == 1 && a.Token != "" && subtle.ConstantTimeCompare([]byte(got[0]), []byte(a.Token)) == 1
}

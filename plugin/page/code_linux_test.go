// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	codeForm = regexp.MustCompile(`#code=([0-9a-f]{64})"`)
	bare     = drop(tokenHeader)
)

func pathOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "file" || u.Host != "" {
		t.Fatalf("%s is no file: %v", link, err)
	}
	return u.Path
}

// codeIn returns the code in the file that link names.
func codeIn(t *testing.T, link string) string {
	t.Helper()
	b, err := os.ReadFile(pathOf(t, link))
	if err != nil {
		t.Fatal(err)
	}
	m := codeForm.FindAllStringSubmatch(string(b), -1)
	if len(m) != 2 || m[0][1] != m[1][1] { // the redirection, and the link for browsers without it
		t.Fatalf("the file has %d codes: %s", len(m), b)
	}
	return m[0][1]
}

// link asks for a file that opens the page, as docker hostexec ui does.
func (s *served) link() string {
	s.t.Helper()
	link, err := s.address.File(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return link
}

// present presents a code, as a browser does, and returns the token for it.
func (s *served) present(code string) (token string, a answer) {
	s.t.Helper()
	a = s.try("POST", "/token", `{"code":"`+code+`"}`, bare)
	var got struct{ Token string }
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		s.t.Errorf("%v: %s", err, a.body)
	}
	return got.Token, a
}

func (s *served) codeOf(token string) int {
	return s.try("GET", "/pending", "", set(tokenHeader, token)).code
}

// TestFile checks that the browser is started with a file that only its user can read. The command line,
// which all users can read, has neither the code nor the token. The file is removed after its use.
//
// Attack 108.
func TestFile(t *testing.T) {
	store := newStore(t)
	stale := filepath.Join(store.Home, strings.Replace(filePattern, "*", "1", 1))
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newPage(t, store)
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("what a page has left that was killed stays: %v", err)
	}
	link := s.link()
	file, code := pathOf(t, link), codeIn(t, link)
	if fi, err := os.Stat(file); err != nil || fi.Mode() != 0o600 {
		t.Errorf("the file: %v, %v, want 0600", fi, err)
	}
	if fi, err := os.Stat(filepath.Dir(file)); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v, want 0700", fi, err)
	}
	if strings.Contains(link, code) || strings.Contains(link, s.address.Token) {
		t.Errorf("the link has a secret: %s", link)
	}
	b, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(b), s.address.Token) || strings.Contains(string(b), "<script") {
		t.Errorf("the file is %s, %v", b, err)
	}
	for _, part := range []string{`content="no-referrer"`, `default-src 'none'`, `content="0;url=` + s.address.Origin + `/#code=`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("the file lacks %s: %s", part, b)
		}
	}
	token, a := s.present(code)
	if a.code != 200 || token == "" || token == s.address.Token || s.codeOf(token) != 200 {
		t.Errorf("the code gives %d, %s", a.code, a.body)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file stays when it was used: %v", err)
	}
	other := pathOf(t, s.link())
	removeFiles(s.tokens.expire(time.Now().Add(codeLifetime + time.Second)))
	if _, err := os.Stat(other); !os.IsNotExist(err) {
		t.Errorf("the file stays when its time is over: %v", err)
	}
}

// TestFileEnds checks that the files are removed when the page ends.
func TestFileEnds(t *testing.T) {
	store := newStore(t)
	p := &Page{Store: store, Idle: time.Nanosecond}
	if err := p.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	link, err := p.File()
	if err == nil {
		err = p.Serve(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(pathOf(t, link)); !os.IsNotExist(err) {
		t.Errorf("the file stays when the page has ended: %v", err)
	}
}

// TestCode has a program of another user present a stolen code before the browser does. The token
// that the program got is revoked when the browser presents the code, however late. Both clients
// are informed.
//
// Attack 108.
func TestCode(t *testing.T) {
	store := newStore(t)
	s := newPage(t, store)
	stolen, _ := s.present(codeIn(t, s.link()))
	otherToken, _ := s.present(codeIn(t, s.link()))
	code := codeIn(t, s.link())
	token, a := s.present(code)
	if a.code != 200 {
		t.Fatalf("the first use: %d, %s", a.code, a.body)
	}
	stream := s.readEvents(set(tokenHeader, token))
	stream.next("pending", "")
	again, a := s.present(code)
	if a.code != 403 || again != "" || !strings.Contains(a.body, "revoked") || !strings.Contains(a.body, `"revoked":true`) || !strings.Contains(a.body, "docker hostexec ui") {
		t.Errorf("the second use: %d, %s", a.code, a.body)
	}
	if told := stream.next("revoked", ""); told != revoked {
		t.Errorf("who listens is told %q", told)
	}
	for stream.lines.Scan() { // until the stream ends
		if strings.HasPrefix(stream.lines.Text(), "event: ") {
			t.Errorf("the stream goes on: %s", stream.lines.Text())
		}
	}
	for _, path := range []string{"/pending", "/events", "/token", "/sessions"} {
		if a := s.try("GET", path, "", set(tokenHeader, token)); a.code != 401 || !strings.Contains(a.body, `"revoked":true`) {
			t.Errorf("%s with the token of the first use: %d, %s", path, a.code, a.body)
		}
	}
	if a := s.try("POST", "/code", "", set(tokenHeader, token)); a.code != 401 {
		t.Errorf("it makes links: %d, %s", a.code, a.body)
	}
	if _, a := s.present(code); a.code != 403 || !strings.Contains(a.body, `"revoked":true`) {
		t.Errorf("the third use: %d, %s", a.code, a.body)
	}
	for name, other := range map[string]string{"the page's own token": s.address.Token, "another code's": stolen, "another's": otherToken} {
		if code := s.codeOf(other); code != 200 {
			t.Errorf("%s is answered %d", name, code)
		}
	}
	if b, err := os.ReadFile(store.PageLog()); err != nil || strings.Count(string(b), "level=WARN") != 1 || !strings.Contains(string(b), "used twice") || strings.Contains(string(b), code) {
		t.Errorf("the log says %q, %v", b, err)
	}
	var ts tokens
	now := time.Now()
	late, _ := ts.newCode(now)
	token = ts.redeem(late, now).token
	if !ts.redeem(late, now.Add(24*time.Hour)).twice || !ts.find(token).isRevoked() {
		t.Error("a browser that comes a day later revokes nothing")
	}
	old, _ := ts.newCode(now)
	if got := ts.redeem(old, now.Add(codeLifetime+time.Second)); got != (redemption{}) {
		t.Errorf("a code that is too old gives %+v", got)
	}
}

// TestCodeMakesNoCodes checks that a token from a code cannot create codes, which would stay valid after
// its revocation.
//
// Attack 108.
func TestCodeMakesNoCodes(t *testing.T) {
	s := newPage(t, newStore(t))
	token, _ := s.present(codeIn(t, s.link()))
	if a := s.try("POST", "/code", "", set(tokenHeader, token)); a.code != 403 || strings.Contains(a.body, "file://") {
		t.Errorf("POST /code = %d, %s", a.code, a.body)
	}
}

// TestCodeRace presents one code twice at the same time. At most one client gets a token, and that token
// is revoked.
//
// Attack 108.
func TestCodeRace(t *testing.T) {
	s := newPage(t, newStore(t))
	for range 50 {
		code := codeIn(t, s.link())
		var mu sync.Mutex
		var tokens []string
		var wg sync.WaitGroup
		for range 2 {
			// Ends after one request.
			wg.Go(func() {
				token, _ := s.present(code)
				mu.Lock()
				defer mu.Unlock()
				if token != "" {
					tokens = append(tokens, token)
				}
			})
		}
		wg.Wait()
		if len(tokens) > 1 || len(tokens) == 1 && s.codeOf(tokens[0]) != 401 {
			t.Fatalf("%d got a token, which is answered %d", len(tokens), s.codeOf(tokens[0]))
		}
	}
}

// TestCodesAreFew checks the limits of codes and tokens. A token is removed before its code is forgotten.
func TestCodesAreFew(t *testing.T) {
	var ts tokens
	now := time.Now()
	over := map[string]bool{}
	for i := range 10 * maxCodes {
		code, files := ts.newCode(now.Add(time.Duration(i)))
		ts.setFile(code, code)
		for _, file := range files {
			over[file] = true
		}
	}
	if len(ts.codes) > maxCodes || len(over) != 9*maxCodes {
		t.Errorf("%d codes are open, the files of %d are to go", len(ts.codes), len(over))
	}
	var first string
	for range 2 * maxTokens {
		code, _ := ts.newCode(now)
		token := ts.redeem(code, now).token
		if first == "" {
			first = token
		}
	}
	if len(ts.used) != maxTokens || len(ts.given) != maxTokens || len(ts.order) != maxTokens || ts.find(first) != nil {
		t.Errorf("%d, %d and %d tokens are good, want %d", len(ts.used), len(ts.given), len(ts.order), maxTokens)
	}
}

// TestFailedOpens checks that browsers are not started forever if none connects.
func TestFailedOpens(t *testing.T) {
	var links []string
	s := serve(t, &Page{Store: newStore(t), Open: func(link string) error { links = append(links, link); return nil }})
	for i := range maxFailedOpens + 2 {
		s.openBrowser(i)
	}
	for i, link := range links {
		if strings.HasPrefix(link, "file://") != (i < maxFailedOpens) {
			t.Errorf("the %dth time it opens %q", i+1, link)
		}
	}
}

// TestNoAccessLog checks that no log contains a code.
//
// Attack 108.
func TestNoAccessLog(t *testing.T) {
	store := newStore(t)
	s := newPage(t, store)
	token, _ := s.present(codeIn(t, s.link()))
	s.codeOf(token)
	err := filepath.WalkDir(store.Home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if strings.Contains(lines.Text(), token) || strings.Contains(lines.Text(), s.address.Token) && path != addressFile(store) {
				t.Errorf("%s has a token", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if a := s.try(http.MethodGet, "/", "", bare); a.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the page is sent with %v", a.header)
	}
}

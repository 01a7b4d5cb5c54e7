// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/docker-hostexec/hostexec/plugin/callcontainer"
	watchcontainer "github.com/docker-hostexec/hostexec/plugin/watch/container"
)

const (
	// creationTimeout is the time limit for the engine's answer after the client has left.
	creationTimeout = 30 * time.Second
	// maxAnswer is the maximum size of the engine's answer to a creation: an id, and warnings.
	maxAnswer = 4 << 20
	// maxStart is the maximum size of the body of a start request. A longer body contains a host configuration, which
	// engines accept from clients of API 1.23 and older.
	maxStart = 7
)

// create passes on a request that creates a container, after Sessions has edited the request.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	req := &CreateRequest{Name: q.Get("name"), Platform: q.Get("platform")}
	text, err := readBody(r, maxBody)
	if err == nil && len(text) > 0 {
		if req.Body, err = decode(text); err != nil {
			err = &statusError{http.StatusBadRequest, fmt.Errorf("read the request to create a container: %w", err)}
		}
	}
	if err != nil {
		refuse(w, err)
		return
	}
	// If the client leaves, the engine still completes a creation. Its answer says whether there is a container.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(r.Context(), func() { time.AfterFunc(creationTimeout, cancel) })()
	resp, answer, err := s.createEdited(ctx, r, req, text)
	if err != nil {
		refuse(w, err)
		return
	}
	for name, v := range resp.Header {
		w.Header()[name] = v
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer) // fails if the client has left
}

// createEdited creates the container, and returns the engine's answer. text is the request's body, which even without
// Sessions is encoded again, so that the engine reads the same as decode.
func (s *Server) createEdited(ctx context.Context, r *http.Request, req *CreateRequest, text []byte) (*http.Response, []byte, error) {
	created := func(context.Context, string) error { return nil }
	if req.Body != nil {
		if s.Sessions != nil {
			f, err := s.Sessions.Create(ctx, req)
			if err != nil {
				return nil, nil, err
			}
			if f != nil {
				created = f
			}
		}
		var err error
		if text, err = encode(req.Body); err != nil {
			return nil, nil, errors.Join(err, created(ctx, ""))
		}
	}
	resp, answer, err := s.sendCreation(ctx, r, text)
	if err == nil && resp.StatusCode >= http.StatusBadRequest && req.Refused != nil {
		resp, answer, err = s.retryRefused(ctx, r, req, resp, answer)
	}
	id := ""
	if err == nil && resp.StatusCode == http.StatusCreated {
		var made struct{ Id string } // the engine's spelling
		err = json.Unmarshal(answer, &made)
		id = made.Id
	}
	if err == nil && id != "" {
		if err = s.refuseSocketMount(ctx, id); err != nil {
			_ = callcontainer.Remove(ctx, s.Engine, id) // the client gets the first error
			id = ""
		}
	}
	if cerr := created(ctx, id); err == nil {
		err = cerr
	}
	return resp, answer, err
}

// retryRefused gives Sessions the engine's refusal of req, and sends req once more if Sessions has edited it.
func (s *Server) retryRefused(ctx context.Context, r *http.Request, req *CreateRequest, resp *http.Response, answer []byte) (*http.Response, []byte, error) {
	again, err := req.Refused(ctx, errors.New(string(answer)))
	if err != nil || !again {
		return resp, answer, err
	}
	text, err := encode(req.Body)
	if err != nil {
		return nil, nil, err
	}
	return s.sendCreation(ctx, r, text)
}

// sendCreation sends a creation with the given body to the engine, and reads the answer.
func (s *Server) sendCreation(ctx context.Context, r *http.Request, text []byte) (*http.Response, []byte, error) {
	out := r.Clone(ctx)
	s.directToEngine(out.URL)
	out.RequestURI = ""
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
	out.Trailer = nil
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Expect", "Upgrade", "Te", "Trailer"} {
		out.Header.Del(name)
	}
	resp, err := s.RoundTrip(out)
	if err != nil {
		return nil, nil, errNoAnswer(s.Engine.DaemonHost(), err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, errNoAnswer(s.Engine.DaemonHost(), err)
	}
	if len(answer) > maxAnswer {
		return nil, nil, fmt.Errorf("the engine's answer to a creation has more than %d bytes", maxAnswer)
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding"} {
		resp.Header.Del(name)
	}
	return resp, answer, nil
}

// refuseSocketMount returns an error if container id mounts the proxy's socket.
func (s *Server) refuseSocketMount(ctx context.Context, id string) error {
	if err := watchcontainer.RefuseMountOf(ctx, s.Engine, id, s.Socket); err != nil {
		return &statusError{http.StatusForbidden, fmt.Errorf("the container would get the socket of the API proxy: %w", err)}
	}
	return nil
}

// start tells Sessions that a container is to start. It returns false if it has answered the request with an error.
func (s *Server) start(w http.ResponseWriter, r *http.Request, id string) bool {
	text, err := readBody(r, maxStart)
	if err != nil {
		refuse(w, &statusError{http.StatusBadRequest, errors.New("a start with a host configuration is not supported: use a client of API 1.24 or newer")})
		return false
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
	if len(text) == 0 {
		r.Body = http.NoBody
	}
	// The mounts are checked again: the target of a path may have changed since the creation.
	if err = s.refuseSocketMount(r.Context(), id); errdefs.IsNotFound(err) {
		return true // the engine has the better message
	}
	if err == nil && s.Sessions != nil {
		err = s.Sessions.Start(r.Context(), id)
	}
	if err != nil {
		refuse(w, err)
	}
	return err == nil
}

// readBody returns the body of r, which has no more than limit bytes.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, &statusError{http.StatusBadRequest, fmt.Errorf("read the request: %w", err)}
	}
	if int64(len(text)) > limit {
		return nil, &statusError{http.StatusRequestEntityTooLarge, fmt.Errorf("the request to create a container has more than %d MiB", limit>>20)}
	}
	return text, nil
}

// inFlight waits for the creations and starts that have begun.
type inFlight struct {
	mu     sync.Mutex // guards closed, and ensures that wg.Add precedes wg.Wait
	closed bool
	wg     sync.WaitGroup
}

// run calls f, unless wait has been called.
func (i *inFlight) run(f func()) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return
	}
	i.wg.Add(1)
	i.mu.Unlock()
	defer i.wg.Done()
	f()
}

// wait waits for all creations and starts that have begun, and prevents new ones.
func (i *inFlight) wait() {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.wg.Wait()
}

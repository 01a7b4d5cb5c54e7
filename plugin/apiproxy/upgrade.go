// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// streamBuffer is the size of the buffer of one direction of an upgraded connection: most of what a unix socket holds.
const streamBuffer = 256 << 10

// maxUpgrade is the maximum size of the body of a request to upgrade. The body, which exec has, is sent before the
// answer is read.
const maxUpgrade = 1 << 20

// isUpgrade reports whether the engine may turn the connection of r into a stream of bytes. Engines do so without an
// Upgrade too, for old clients of attach and of exec.
func isUpgrade(r *http.Request) bool {
	if r.ProtoMajor != 1 || r.ContentLength < 0 || r.ContentLength > maxUpgrade {
		return false
	}
	if r.Header.Get("Upgrade") != "" {
		return true
	}
	all := segments(r)
	if len(all) >= 3 && strings.EqualFold(all[len(all)-1], "attach") {
		return true
	}
	return r.Method == http.MethodPost && isExecStart(r.URL.Path)
}

func isExecStart(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) > 3 && parts[len(parts)-1] == "start" && parts[len(parts)-3] == "exec"
}

// upgrade sends a request to the engine on a new connection, and then copies the bytes of both directions until both
// have ended. It passes on the end of each direction: stdin of a container ends before its output.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	engine, err := s.Engine.Dialer()(r.Context())
	if err != nil {
		s.refuseWithoutEngine(w, err)
		return
	}
	defer engine.Close()
	in, resp, err := s.sendUpgrade(engine, r)
	if err != nil {
		s.refuseWithoutEngine(w, err)
		return
	}
	if !isStream(resp) {
		writeResponse(w, resp)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // HTTP/1 can be hijacked
	}
	defer conn.Close()
	if writeHead(conn, resp) != nil {
		return
	}
	copyBoth(conn.(halfCloser), buffered.Reader, engine, in)
}

// sendUpgrade sends r to the engine and reads the header of the answer.
func (s *Server) sendUpgrade(engine net.Conn, r *http.Request) (*bufio.Reader, *http.Response, error) {
	out := r.Clone(r.Context())
	s.directToEngine(out.URL)
	out.Host = r.Host
	out.Header.Del("Expect") // out has its body, and ReadResponse would take 100 Continue for the answer
	if _, has := out.Header["User-Agent"]; !has {
		out.Header.Set("User-Agent", "") // Write would add one
	}
	if err := out.Write(engine); err != nil {
		return nil, nil, err
	}
	in := bufio.NewReader(engine)
	resp, err := http.ReadResponse(in, out)
	return in, resp, err
}

// isStream reports whether a stream follows the header of resp. An answer with a length or in chunks is no stream,
// whatever its type, because the next request may follow on the connection.
func isStream(resp *http.Response) bool {
	media := resp.Header.Get("Content-Type")
	return resp.StatusCode == http.StatusSwitchingProtocols ||
		resp.StatusCode == http.StatusOK && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 &&
			(media == "application/vnd.docker.raw-stream" || media == "application/vnd.docker.multiplexed-stream")
}

// writeHead writes the header of a stream. Response.Write would declare an empty body, and HTTP libraries would then
// not read the stream.
func writeHead(w io.Writer, resp *http.Response) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\n", resp.Status)
	_ = resp.Header.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	_, err := w.Write(b.Bytes())
	return err
}

// writeResponse passes on an answer that is no stream, such as an error.
func writeResponse(w http.ResponseWriter, resp *http.Response) {
	defer resp.Body.Close()
	for name, v := range resp.Header {
		w.Header()[name] = v
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = copyStream(flushingWriter{w, http.NewResponseController(w)}, resp.Body) // fails if the client or the engine has left
}

// flushingWriter sends each write at once.
type flushingWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (f flushingWriter) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	return n, errors.Join(err, f.control.Flush())
}

// halfCloser is a connection of which one direction can end before the other.
type halfCloser interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
}

// copyBoth copies both directions until both have ended. fromClient and fromEngine are the connections' buffered
// readers.
func copyBoth(client halfCloser, fromClient io.Reader, engine net.Conn, fromEngine io.Reader) {
	var wg sync.WaitGroup
	// ends when the client has ended its direction or its connection, or the engine reads no more
	wg.Go(func() {
		rerr, werr := copyStream(engine, fromClient)
		switch {
		case rerr != nil:
			engine.Close() // the client is gone
		case werr != nil:
			client.CloseRead() // the engine may still have output for the client
		default:
			closeWrite(engine)
		}
	})
	rerr, werr := copyStream(client, fromEngine)
	if rerr == nil && werr == nil {
		werr = client.CloseWrite()
	}
	if rerr != nil || werr != nil {
		client.Close()
		engine.Close()
	}
	wg.Wait()
}

// closeWrite ends the direction to the engine, if its connection has two.
func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite() // fails if the engine has closed the connection
	}
}

// copyStream copies in to out until in ends. It returns the error of reading and the error of writing, because their
// causes are on different sides.
func copyStream(out io.Writer, in io.Reader) (rerr, werr error) {
	b := make([]byte, streamBuffer)
	for {
		n, err := in.Read(b)
		if n > 0 {
			if _, werr := out.Write(b[:n]); werr != nil {
				return nil, werr
			}
		}
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return err, nil
		}
	}
}

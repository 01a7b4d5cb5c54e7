// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestBenchAPIProxy measures the time that the API proxy adds to a request, and the throughput of
// attach as a share of the engine's own.
func TestBenchAPIProxy(t *testing.T) {
	b := &bench{host: newHost(t, false)}
	socket, _ := b.host.listening(t)
	direct, proxied := engineClient("/var/run/docker.sock"), engineClient(socket)
	for _, path := range []string{"/_ping", "/containers/json"} {
		var plain, through []int64
		for range 1000 {
			plain, through = append(plain, timeGet(t, direct, path)), append(through, timeGet(t, proxied, path))
		}
		more := quantile(through, 0.5) - quantile(plain, 0.5)
		b.row("API proxy: `GET "+path+"`, p50 more than without", fmt.Sprintf("%.2f ms", more/1e6), "<= 1 ms", more <= 1e6)
	}
	const parts = 4 // interleaved, so that a busy machine slows both
	img := image(t, "busybox")
	var plain, through []int64
	for range parts {
		plain, through = append(plain, b.attachedPart(t, img)), append(through, b.attachedPart(t, img, "-H", "unix://"+socket))
	}
	left := quantile(plain, 0.5) / quantile(through, 0.5)
	b.row("API proxy: throughput of 1 GiB of a container's output, as a fraction of the same without it", ratio(left), ">= 0.8", left >= 0.8)
	fmt.Println(b.table(t))
}

// attachedPart times 256 MiB of output of a container, as docker run shows it, from the first byte to the last. The engine
// keeps no log of it.
func (b *bench) attachedPart(t testing.TB, img string, engine ...string) int64 {
	t.Helper()
	args := append(engine, "run", "--rm", "--log-driver", "none", "--network", "none", "--label", runLabel, img, "dd", "if=/dev/zero", "bs=1M", "count=256")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := b.host.Command(ctx, "docker", args...)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 1))
	check(t, err)
	start := time.Now()
	n, err := io.Copy(io.Discard, out)
	check(t, err)
	check(t, cmd.Wait())
	want(t, "bytes", n, 256<<20-1)
	return time.Since(start).Nanoseconds()
}

// engineClient returns a client of an engine's socket, which keeps its connection.
func engineClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// timeGet times one request.
func timeGet(t testing.TB, c *http.Client, path string) int64 {
	t.Helper()
	start := time.Now()
	r, err := c.Get("http://docker" + path)
	check(t, err)
	_, err = io.Copy(io.Discard, r.Body)
	check(t, err)
	check(t, r.Body.Close())
	return time.Since(start).Nanoseconds()
}

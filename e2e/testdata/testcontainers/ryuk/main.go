// SPDX-License-Identifier: Apache-2.0

// Command ryuk stands in for testcontainers' Ryuk, whose image and module the tests cannot get. It speaks the same
// protocol: a client names labels and gets ACK; when the client has gone, the containers with these labels are removed
// by the engine's socket at /var/run/docker.sock.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

func main() {
	ln, err := net.Listen("tcp", ":8080")
	if err != nil {
		fail(err)
	}
	fmt.Println("Started")
	c, err := ln.Accept()
	for ; err == nil; c, err = ln.Accept() { // a check whether the port is open says nothing
		in := bufio.NewReader(c)
		line, rerr := in.ReadString('\n')
		if rerr != nil {
			continue
		}
		fmt.Fprint(c, "ACK\n")
		_, _ = in.ReadString('\n') // ends when the client has gone
		if err := remove(strings.TrimSpace(line)); err != nil {
			fail(err)
		}
		return
	}
	fail(err)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// remove removes the containers that the filters describe: label=NAME=VALUE&label=...
func remove(filters string) error {
	engine := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", "/var/run/docker.sock")
	}}}
	var labels []string
	for f := range strings.SplitSeq(filters, "&") {
		labels = append(labels, strings.TrimPrefix(f, "label="))
	}
	wanted, err := json.Marshal(map[string][]string{"label": labels})
	if err != nil {
		return err
	}
	r, err := engine.Get("http://docker/containers/json?all=1&filters=" + url.QueryEscape(string(wanted)))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var list []struct{ Id string }
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		return err
	}
	for _, c := range list {
		req, err := http.NewRequest(http.MethodDelete, "http://docker/containers/"+c.Id+"?force=1&v=1", nil)
		if err != nil {
			return err
		}
		if _, err := engine.Do(req); err != nil {
			return err
		}
	}
	return nil
}

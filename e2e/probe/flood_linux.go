// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// flood is one process that makes many calls. `flood N M hold|drop` opens N connections, M at a time, and sends the
// bytes that the first line of stdin has in hexadecimal over each. It prints how many answers began with a frame of
// each kind. With hold, all connections stay open until another line comes.
func flood(args []string) error {
	total, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	atOnce, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(os.Stdin, 8<<20)
	frame, err := readHex(in)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var errs []error
	kinds, open := map[int]int{}, []net.Conn{}
	var wg sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for range total {
		turns <- struct{}{}
		// ends with the first answer.
		wg.Go(func() {
			defer func() { <-turns }()
			kind, s, err := ask(frame)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			kinds[kind]++
			if args[2] == "hold" {
				open = append(open, s)
			} else if s != nil {
				s.Close()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, show(kinds))...); err != nil || args[2] != "hold" {
		return err
	}
	_, err = in.ReadString('\n')
	return err
}

// ask sends frame and returns the kind of the first frame that comes back, 0 for none. It
// takes no thread while it waits: a container may have few.
func ask(frame []byte) (kind int, conn net.Conn, err error) {
	for range 100 {
		if conn, err = net.Dial("unix", "/run/hostexec/socket"); !errors.Is(err, unix.EAGAIN) {
			break
		}
		<-time.After(10 * time.Millisecond) // those that connect are more than the kernel queues
	}
	if err != nil {
		return 0, nil, err
	}
	conn.Write(frame) // who has hung up before all was sent has answered before
	var head [1]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return 0, conn, nil
	}
	return int(head[0]), conn, nil
}

// readHex reads a line of hex digits.
func readHex(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(strings.TrimSpace(line))
}

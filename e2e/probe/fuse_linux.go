// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// What the kernel and a FUSE server tell each other (linux/fuse.h, version 7.31).
type (
	fuseIn struct {
		Len, Op        uint32
		Unique, Node   uint64
		UID, GID, PID  uint32
		Extra, Padding uint16
	}
	fuseOut struct {
		Len    uint32
		Error  int32
		Unique uint64
	}
	fuseInit struct {
		Major, Minor, Readahead, Flags uint32
		Background, Congestion         uint16
		MaxWrite, Granularity          uint32
		Rest                           [9]uint32
	}
	fuseAttr struct {
		Ino, Size, Blocks, Atime, Mtime, Ctime                                      uint64
		AtimeNsec, MtimeNsec, CtimeNsec, Mode, Links, UID, GID, Rdev, Block, Unused uint32
	}
	fuseEntry struct {
		Node, Generation, EntryValid, AttrValid uint64
		EntryNsec, AttrNsec                     uint32
		Attr                                    fuseAttr
	}
	fuseAttrs struct {
		Valid         uint64
		Nsec, Padding uint32
		Attr          fuseAttr
	}
	fuseOpen struct {
		Handle         uint64
		Flags, Padding uint32
	}
)

const (
	opLookup, opForget, opGetattr, opOpen, opRead = 1, 2, 3, 14, 15
	opStatfs, opRelease, opInit, opOpendir        = 17, 18, 26, 27
	opReaddir, opReleasedir, opForgets            = 28, 29, 42

	asLong = 3600 // seconds for which the kernel need not ask again
)

// fuseServer shows the directory of node 1 read-only. Names are the same in upper and lower
// case. With stuck it answers nothing about an open file: whoever closes one waits.
type fuseServer struct {
	dev   int
	stuck bool
	nodes []string // paths by node number
}

// fuse is a file system: `fuse SOURCE TARGET [stuck]` shows SOURCE at TARGET, says "ready",
// and ends when it is unmounted or killed.
func fuse(args []string) error {
	dev, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	opts := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", dev, os.Getuid(), os.Getgid())
	if err := unix.Mount("probe", args[1], "fuse.probe", unix.MS_NOSUID|unix.MS_NODEV, opts); err != nil {
		return err
	}
	defer unix.Unmount(args[1], unix.MNT_DETACH)
	s := fuseServer{dev: dev, stuck: len(args) > 2, nodes: []string{"", args[0]}}
	buf := make([]byte, 1<<17)
	for {
		n, err := unix.Read(dev, buf)
		switch {
		case errors.Is(err, unix.ENODEV):
			return nil // unmounted
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT):
			continue
		case err != nil:
			return err
		}
		var in fuseIn
		if _, err := binary.Decode(buf[:n], binary.NativeEndian, &in); err != nil {
			return err
		}
		if err := s.answer(in, buf[40:n]); err != nil {
			return err
		}
	}
}

// answer answers one request, if it is one that gets an answer.
func (s *fuseServer) answer(in fuseIn, body []byte) error {
	var payload any
	var err error
	switch in.Op {
	case opForget, opForgets:
		return nil
	case opInit:
		fmt.Println("ready")
		payload = fuseInit{Major: 7, Minor: 31, Readahead: 1 << 16, Background: 16, Congestion: 12, MaxWrite: 1 << 16, Granularity: 1}
	case opLookup:
		payload, err = s.lookup(s.nodes[in.Node], string(bytes.TrimRight(body, "\x00")))
	case opGetattr:
		var attr fuseAttr
		attr, err = s.attr(int(in.Node))
		payload = fuseAttrs{Valid: asLong, Attr: attr}
	case opOpen, opOpendir:
		payload = fuseOpen{}
	case opRead:
		payload, err = s.read(s.nodes[in.Node], body)
	case opReaddir:
		payload, err = s.readdir(s.nodes[in.Node], body)
	case opStatfs:
		payload = [80]byte{}
	case opRelease, opReleasedir:
		payload = [0]byte{}
	default:
		err = unix.ENOSYS
	}
	if s.stuck && in.Op > opOpen && in.Op != opInit && in.Op != opOpendir {
		return nil
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		payload = [0]byte{}
	}
	var out bytes.Buffer
	size := binary.Size(fuseOut{}) + binary.Size(payload)
	binary.Write(&out, binary.NativeEndian, fuseOut{Len: uint32(size), Error: -int32(errno), Unique: in.Unique})
	binary.Write(&out, binary.NativeEndian, payload)
	_, err = unix.Write(s.dev, out.Bytes())
	if errors.Is(err, unix.ENOENT) { // nobody waits for it any more
		return nil
	}
	return err
}

func (s *fuseServer) lookup(dir, name string) (fuseEntry, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fuseEntry{}, unix.EIO
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), name) {
			node := s.node(filepath.Join(dir, e.Name()))
			attr, err := s.attr(node)
			return fuseEntry{Node: uint64(node), EntryValid: asLong, AttrValid: asLong, Attr: attr}, err
		}
	}
	return fuseEntry{}, unix.ENOENT
}

// node is the number of path: the same whatever it was called.
func (s *fuseServer) node(path string) int {
	for i, p := range s.nodes {
		if p == path {
			return i
		}
	}
	s.nodes = append(s.nodes, path)
	return len(s.nodes) - 1
}

func (s *fuseServer) attr(node int) (fuseAttr, error) {
	var st unix.Stat_t
	if err := unix.Stat(s.nodes[node], &st); err != nil {
		return fuseAttr{}, unix.ENOENT
	}
	return fuseAttr{Ino: uint64(node), Size: uint64(st.Size), Mode: st.Mode, Links: 1, UID: st.Uid, GID: st.Gid, Block: 4096}, nil
}

func (s *fuseServer) read(path string, body []byte) ([]byte, error) {
	var in struct {
		Handle, Offset uint64
		Size, Flags    uint32
	}
	if _, err := binary.Decode(body, binary.NativeEndian, &in); err != nil {
		return nil, unix.EINVAL
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unix.EIO
	}
	data = data[min(in.Offset, uint64(len(data))):]
	return data[:min(uint64(in.Size), uint64(len(data)))], nil
}

// readdir lists a directory (struct fuse_dirent), from the entry whose number is the offset.
func (s *fuseServer) readdir(dir string, body []byte) ([]byte, error) {
	var in struct {
		Handle, Offset uint64
		Size, Flags    uint32
	}
	if _, err := binary.Decode(body, binary.NativeEndian, &in); err != nil {
		return nil, unix.EINVAL
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unix.EIO
	}
	var out []byte
	for i := int(min(in.Offset, uint64(len(entries)))); i < len(entries); i++ {
		name := entries[i].Name()
		one := binary.NativeEndian.AppendUint64(nil, uint64(s.node(filepath.Join(dir, name))))
		one = binary.NativeEndian.AppendUint64(one, uint64(i+1))
		one = binary.NativeEndian.AppendUint32(one, uint32(len(name)))
		one = binary.NativeEndian.AppendUint32(one, 0) // a type that lstat(2) tells
		one = append(one, name...)
		one = append(one, make([]byte, -len(one)&7)...)
		if len(out)+len(one) > int(in.Size) {
			break
		}
		out = append(out, one...)
	}
	return out, nil
}

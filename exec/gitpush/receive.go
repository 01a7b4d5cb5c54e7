// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// maxUpdates limits the refs of one push: a person may be asked about each.
const maxUpdates = 32

// push is the request that a container's git sends to receive-pack.
type push struct {
	commands []command
	band     bool // the answer goes out in bands
	status   bool // the answer has the result of each ref
	shallow  bool // the container's repository lacks older commits
}

// receive receives a push, and passes on the updates that may be pushed.
func (s *service) receive(ctx context.Context) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	if _, err := s.out.Write(s.mirror.advertisement()); err != nil {
		return err
	}
	p, err := readPush(s.in, s.mirror.hash)
	if err != nil || len(p.commands) == 0 { // nothing to do, or a dry run
		return err
	}
	quarantine, err := newQuarantine(s.Dir)
	if err != nil {
		return err
	}
	defer removeAll(quarantine)
	report := appendPkt(nil, "unpack ok\n")
	results := s.results(ctx, p, quarantine)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if bad := results[unpacked]; bad != nil {
		report = appendPkt(nil, "unpack %s\n", names.Plain(bad.Error()))
	}
	for _, c := range p.commands {
		if err := results[c.ref]; err != nil {
			report = appendPkt(report, "ng %s %s\n", c.ref, names.Plain(err.Error()))
		} else {
			report = appendPkt(report, "ok %s\n", c.ref)
		}
	}
	return s.report(p, append(report, flushPkt...))
}

// report sends the result of the push.
func (s *service) report(p push, report []byte) (err error) {
	switch {
	case p.status && p.band:
		if _, err = (band{s.out, bandData}).Write(report); err == nil {
			_, err = io.WriteString(s.out, flushPkt)
		}
	case p.status:
		_, err = s.out.Write(report)
	}
	return err
}

// advertisement returns the remote's refs and the supported capabilities, for the container's git.
func (m *mirror) advertisement() (b []byte) {
	abilities := "\x00report-status delete-refs side-band-64k quiet ofs-delta object-format=" + m.hash + " agent=hostexec"
	for _, r := range m.refs {
		b = appendPkt(b, "%s %s%s\n", r.id, r.name, abilities)
		abilities = ""
	}
	if len(m.refs) == 0 {
		b = appendPkt(b, "%s capabilities^{}%s\n", m.zero(), abilities)
	}
	return append(b, flushPkt...)
}

// readPush reads the commands of a push. It leaves the pack that follows them unread.
func readPush(in io.Reader, hash string) (p push, err error) {
	limited := &io.LimitedReader{R: in, N: maxCommandBytes}
	for {
		line, err := readPkt(limited)
		switch {
		case errors.Is(err, io.EOF) && len(p.commands) == 0: // git only read the advertisement
			return p, nil
		case err != nil:
			return p, fmt.Errorf("read the updates: %w", err)
		case line == nil:
			return p, p.check()
		}
		text, abilities, first := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\x00")
		if strings.HasPrefix(text, "shallow ") { // the mirror has the older commits, or unpack fails
			p.shallow = true
			continue
		}
		if first {
			words := strings.Fields(abilities)
			p.band, p.status = slices.Contains(words, "side-band-64k"), slices.Contains(words, "report-status")
		}
		c, err := parseCommand(text, hash)
		if err != nil {
			return p, err
		}
		if len(p.commands) == maxUpdates {
			return p, fmt.Errorf("a push of more than %d branches and tags: push them by name, in parts", maxUpdates)
		}
		p.commands = append(p.commands, c)
	}
}

// check refuses a ref that is named twice.
func (p push) check() error {
	seen := map[string]bool{}
	for _, c := range p.commands {
		if seen[c.ref] || c.ref == unpacked {
			return errPkt
		}
		seen[c.ref] = true
	}
	return nil
}

// errShallow begins as git's own message does.
var errShallow = errors.New("shallow update not allowed: the remote lacks the older commits; first git fetch --unshallow")

// unpacked is the key of the result of receiving the pack.
const unpacked = ""

// results receives the pack, and applies each update. It returns the result of each update by ref: nil, or the reason
// why it failed.
func (s *service) results(ctx context.Context, p push, quarantine string) map[string]error {
	results := map[string]error{}
	all := func(err error) map[string]error {
		for _, c := range p.commands {
			results[c.ref] = err
		}
		return results
	}
	if slices.ContainsFunc(p.commands, func(c command) bool { return c.new != s.mirror.zero() }) {
		err := s.unpack(ctx, quarantine)
		if err != nil && p.shallow && strings.Contains(err.Error(), "did not receive expected object") {
			return all(errShallow)
		}
		if err != nil {
			results[unpacked] = err
			return all(errors.New("unpacker error"))
		}
	}
	progress := io.Discard
	if p.band {
		progress = band{s.out, bandProgress}
	}
	for _, c := range p.commands {
		if context.Cause(ctx) == nil {
			results[c.ref] = s.apply(ctx, c, quarantine, progress)
		}
	}
	return results
}

// unpack receives a pack into the quarantine, and checks its objects.
func (s *service) unpack(ctx context.Context, quarantine string) error {
	limit := cmp.Or(max(0, s.MaxPack), DefaultMaxPack)
	head, err := readPackHeader(s.in)
	if err != nil {
		return err
	}
	in := struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), s.in), s.in}
	stderr := newGitStderr()
	st, err := s.confined(ctx, quarantine, executor.Streams{FD: noFiles, In: in, Err: stderr},
		"index-pack", "--stdin", "--strict", "--fix-thin", "--max-input-size="+strconv.FormatInt(limit, 10))
	return stderr.failure(st, err)
}

// readPackHeader reads the header of a pack (gitformat-pack(5)). It refuses too many objects, before git has memory for
// them.
func readPackHeader(in io.Reader) ([]byte, error) {
	head := make([]byte, 12) // PACK, the version and the number of objects
	if _, err := io.ReadFull(in, head); err != nil || !bytes.HasPrefix(head, []byte("PACK")) {
		return nil, errPkt
	}
	if binary.BigEndian.Uint32(head[8:]) > maxNewList {
		return nil, errTooMany
	}
	return head, nil
}

// apply asks Authorize about one update, and pushes it. The error is the reason why it was not pushed.
func (s *service) apply(ctx context.Context, c command, quarantine string, progress io.Writer) error {
	u, err := s.mirror.update(s.Remote, c)
	if err == nil {
		err = s.inspect(ctx, &u, quarantine)
	}
	if err != nil {
		return err
	}
	ended, err := s.Authorize(ctx, u)
	if err != nil {
		return fmt.Errorf("hostexec: %w", err)
	}
	out, stderr := limit.Buffer{Max: defaultMaxOutput}, newGitStderr()
	st, err := s.network(ctx, s.mirror.dir, quarantine, &out, io.MultiWriter(remoteLines{progress}, stderr), u.Args[1:]...)
	ended(st.Code)
	if err != nil {
		return err
	}
	if len(out.Bytes()) == 0 && st.Code != 0 {
		return fmt.Errorf("%s: %w", s.Remote.Name, stderr.failure(st, nil))
	}
	return u.result(out.String())
}

// remoteLines passes on the remote's messages without their prefix "remote: ", which the container's git adds again.
type remoteLines struct{ to io.Writer }

func (r remoteLines) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if text, ok := bytes.CutPrefix(line, []byte("remote: ")); ok {
			if _, err := r.to.Write(text); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

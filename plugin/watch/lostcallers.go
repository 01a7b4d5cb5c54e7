// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// AnswerLost tells callers by files, which see no connection end, that the watcher of the
// session whose folder is session was killed. A session that has another watcher by now is left
// to that. ctx bounds the waiting for the session's lock.
func AnswerLost(ctx context.Context, session string) {
	lock := state.ExistingLock(state.LockFile(session))
	if ok, err := lock.TryLockContext(ctx, Poll/10); err != nil || !ok {
		return
	}
	defer lock.Close()
	store, id := state.Of(session)
	if rec, err := store.Load(id); err == nil {
		answerLost(store, rec)
	}
}

// answerLost is AnswerLost for who has the session's lock.
func answerLost(store *state.Store, rec state.Session) {
	if rec.Proxy != nil {
		answerLostProxy(store, rec)
		return
	}
	session := store.Dir(rec.ID)
	base, err := dir.OpenBase(session)
	if err != nil {
		return
	}
	defer base.Close()
	for _, name := range append(rec.Linked(), shimName) {
		if box, err := base.Open(filepath.Join(filepath.Base(state.ProxyDir(session)), name)); err == nil {
			files.AnswerLost(box, []string{name}, false)
			box.Close()
		}
	}
}

// answerLostProxy is answerLost for a session without a container. Nothing is done in a directory
// that has got the name of the one that was served.
func answerLostProxy(store *state.Store, rec state.Session) {
	base, err := dir.ReopenBase(rec.Proxy.Real, rec.Proxy.Key)
	if err != nil {
		return
	}
	defer base.Close()
	for _, name := range rec.Names() {
		_, rest := rec.Proxy.Dir(name)
		if box, err := base.Open(rest); err == nil {
			answerUnserved(store, box, name, rec.Proxy.Flat)
			box.Close()
		}
	}
}

// answerUnserved answers the calls of name in box unless another proxy serves them.
func answerUnserved(store *state.Store, box *dir.SharedDir, name string, shared bool) {
	key, err := box.Key()
	if err != nil {
		return
	}
	l, err := store.Proxies().Lock(key, name)
	if err != nil {
		return
	}
	defer l.Release()
	files.AnswerLost(box, []string{name}, shared)
}

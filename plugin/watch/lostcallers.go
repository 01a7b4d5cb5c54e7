// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"path/filepath"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier/files"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// AnswerLost tells callers by files, which see no connection end, that the watcher of their session was killed.
// session is the session's directory. If the session has a new watcher, that watcher answers. ctx limits the
// wait for the session's lock.
func AnswerLost(ctx context.Context, session string) {
	lock := state.ExistingLock(state.LockFile(session))
	if ok, err := lock.TryLockContext(ctx, Poll/10); err != nil || !ok {
		return
	}
	defer lock.Close()
	store, id := state.StoreOf(session)
	if rec, err := store.Load(id); err == nil {
		answerLost(store, rec)
	}
}

// answerLost is AnswerLost for a caller that holds the session's lock.
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
		if requests, err := base.Open(filepath.Join(filepath.Base(state.RequestsDir(session)), name)); err == nil {
			files.AnswerLost(requests, []string{name}, false)
			requests.Close()
		}
	}
}

// answerLostProxy is answerLost for a session of proxy. It changes nothing if another directory has replaced the served
// one.
func answerLostProxy(store *state.Store, rec state.Session) {
	base, err := dir.ReopenBase(rec.Proxy.Real, rec.Proxy.Key)
	if err != nil {
		return
	}
	defer base.Close()
	for _, name := range rec.Names() {
		_, rest := rec.Proxy.Dir(name)
		if requests, err := base.Open(rest); err == nil {
			answerUnserved(store, requests, name, rec.Proxy.Flat)
			requests.Close()
		}
	}
}

// answerUnserved answers the requests for name unless another proxy serves them.
func answerUnserved(store *state.Store, requests *dir.UntrustedDir, name string, shared bool) {
	key, err := requests.Key()
	if err != nil {
		return
	}
	l, err := store.ProxyLocks().Lock(key, name)
	if err != nil {
		return
	}
	defer l.Release()
	files.AnswerLost(requests, []string{name}, shared)
}

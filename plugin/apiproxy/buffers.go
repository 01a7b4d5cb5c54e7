// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"sync"
	"time"
)

const (
	bufferSize  = 64 << 10
	maxIdle     = 32               // connections to the engine that wait for the next request
	idleTimeout = 30 * time.Second // after which an idle connection is closed; engines keep it for longer
)

// buffers is httputil.ReverseProxy's supply of buffers.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

// SPDX-License-Identifier: Apache-2.0

// Package exec is the map of the host side; it holds no code.
//
//	conn -> call -> policy -> (approval) -> audit -> executor -> proctree
//	                                                    |
//	                                                   dir
//
// A call is heard, decided, written down, run and answered. Policy decides, approval
// asks, audit writes it down, executor runs it in a directory that dir holds, record keeps
// what it wrote if that is wanted, limit counts what a session holds, proctree ends what it
// started; call is the only room that knows them all. Nothing here imports plugin, and
// nothing here knows that Docker exists.
package exec

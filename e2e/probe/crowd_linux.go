// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"time"
)

// crowd is `crowd N TOTAL COMMAND...`: N callers run a command again and again, each the next time as soon as the last
// one has ended, until there were TOTAL runs. It prints how long each took, and how long all did, as lists of
// nanoseconds.
func crowd(args []string) error {
	callers, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	total, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	// Each run sets its own, so no caller waits for another one.
	took, errs := make([]int64, total), make([]error, total)
	runs := make(chan int)
	var wg sync.WaitGroup
	for range callers {
		// ends when runs is closed.
		wg.Go(func() {
			for i := range runs {
				var d time.Duration
				d, errs[i] = timed(args[2:], os.Stderr)
				took[i] = d.Nanoseconds()
			}
		})
	}
	start := time.Now()
	for i := range total {
		runs <- i
	}
	close(runs)
	wg.Wait()
	all := time.Since(start)
	return errors.Join(append(errs, show([][]int64{took, {all.Nanoseconds()}}))...)
}

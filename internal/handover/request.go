package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lookAgain is how often Request looks at the pid file.
const lookAgain = 50 * time.Millisecond

// Request asks the process that a pid file names to hand over, and waits until another one serves in its place, or it says by a
// file written anew that it goes on, or ctx ends.
func Request(ctx context.Context, pidFile string) (before, after int, err error) {
	// The file is looked at before it is read: if it is replaced between the two, the answer is a no to be repeated.
	asked, err := os.Stat(pidFile)
	if err != nil {
		return 0, 0, err
	}
	before, err = ReadPID(pidFile)
	if err != nil {
		return 0, 0, err
	}
	if forsaken(pidFile) {
		return before, 0, fmt.Errorf("%s is stale: the process that wrote it, %d, has ended without removing it", pidFile, before)
	}
	if err := ask(before); err != nil {
		return before, 0, fmt.Errorf("process %d, which %s names: %w", before, pidFile, err)
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return before, 0, errors.New("nobody has taken over in time; the log says why")
		}
		now, err := os.Stat(pidFile)
		if err != nil {
			return before, 0, fmt.Errorf("process %d has ended: %w", before, err)
		}
		if os.SameFile(asked, now) && now.ModTime().Equal(asked.ModTime()) { // a new file may get the old one's number
			continue
		}
		// A new process that fails at the last moment is named for as long as the old one needs to see it.
		if after, err = ReadPID(pidFile); err != nil || after != before {
			return before, after, err
		}
		return before, 0, errors.New("the new process did not start, the old one goes on; the log says why")
	}
}

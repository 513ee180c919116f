package main

import (
	"context"
	"fmt"
	"time"

	"evergate/internal/handover"
)

type upgradeCmd struct {
	PidFile string        `help:"The pid file of the running gateway." required:"" type:"path" env:"EVERGATE_PID_FILE"`
	Timeout time.Duration `help:"How long to wait for the new process." default:"1m" env:"EVERGATE_UPGRADE_WAIT"`
}

// Run asks the running gateway to start the program anew and to hand over, and waits for what comes of it.
func (u *upgradeCmd) Run(*cli) error {
	ctx, cancel := context.WithTimeout(context.Background(), u.Timeout)
	defer cancel()
	before, after, err := handover.Request(ctx, u.PidFile)
	if err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	fmt.Printf("process %d has taken over from %d, which finishes its requests\n", after, before)
	return nil
}

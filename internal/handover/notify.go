package handover

import (
	"fmt"
	"net"
	"time"
)

// notifyTime is how long the service manager may take to take a word.
const notifyTime = time.Second

// notify tells a service manager about this process, as systemd's sd_notify(3) describes; an empty socket: nobody asks.
func notify(socket, words string) error {
	if socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"}) // a name that begins with @ is abstract
	if err == nil {
		_ = c.SetWriteDeadline(time.Now().Add(notifyTime))
		_, err = c.Write([]byte(words))
		_ = c.Close()
	}
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

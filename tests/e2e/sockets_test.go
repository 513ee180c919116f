package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// socketChecks are what sockets.py must report.
var socketChecks = strings.Fields("text binary large fragments ping ping_of_server compressed close_of_client close_of_server lost refused unknown_key " +
	"subprotocol many realtime")

const socketConfig = `
auth: { keys: [{ name: dev, value: dev-key }] }
providers:
  up: { type: openai, base_url: "http://127.0.0.1:%d/v1", api_key: house-key, models: [m] }
`

// TestSockets speaks through passthrough with a real WebSocket client and the SDK's realtime client, to a real WebSocket
// server that the script starts.
func TestSockets(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	g := serve(t, fmt.Sprintf(socketConfig, port), "")
	runScript(t, []string{"EVERGATE_URL=" + g.url, "ECHO_PORT=" + strconv.Itoa(port)}, socketChecks, command("sockets.py")...)
	if log := g.out.String(); strings.Contains(log, "dev-key") || strings.Contains(log, "house-key") {
		t.Error("the log has a key")
	}
}

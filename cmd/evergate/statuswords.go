package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// refused puts a reply that is not 200 into words: the gateway's own, or a little of what else is there.
func refused(url, status string, body []byte) error {
	var reply struct {
		Error struct{ Message, Code string }
	}
	switch {
	case json.Unmarshal(body, &reply) != nil || reply.Error.Message == "":
		return fmt.Errorf("%s answered %s: %s; is it an Evergate gateway?", url, status, shown(body))
	case reply.Error.Code == "invalid_admin_token":
		return errors.New(url + " wants an admin token, or another one: give it with --token or EVERGATE_ADMIN_TOKEN")
	case reply.Error.Code == "forbidden":
		return fmt.Errorf("%s refuses: %s", url, strconv.Quote(reply.Error.Message))
	}
	said := fmt.Sprintf("%s answered %s: %s", url, status, strconv.Quote(reply.Error.Message))
	if reply.Error.Code == "" { // the gateway's own errors have one
		said += "; is it an Evergate gateway?"
	}
	return errors.New(said)
}

// shown is the beginning of a text from elsewhere, fit for a terminal.
func shown(body []byte) string {
	const most = 80
	text := strings.TrimSpace(string(body[:min(len(body), 4*most)]))
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}

package ingress

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// ticketField is the query parameter of a ticket.
const ticketField = "evergate_ticket"

// ticket lets who has it use one address as the holder of the key of that name does: Google's SDKs send no key to the address of an
// upload, which is a secret itself. It is good for as long as the key is, on every gateway that has the key.
func (k *Keys) ticket(name, address string) string {
	if k != nil {
		for i := range k.entries {
			if k.entries[i].name == name {
				return k.entries[i].ticket(address)
			}
		}
	}
	return ""
}

// holder is the key whose ticket for the address it is.
func (k *Keys) holder(ticket, address string) (name string, ok bool) {
	if k == nil || ticket == "" {
		return "", false
	}
	for i := range k.entries {
		if hmac.Equal([]byte(ticket), []byte(k.entries[i].ticket(address))) {
			name, ok = k.entries[i].name, true
		}
	}
	return name, ok
}

func (e *keyEntry) ticket(address string) string {
	mac := hmac.New(sha256.New, e.hash[:])
	_, _ = mac.Write([]byte("evergate upload\n" + address)) // a hash never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// ticketed is the address of an upload that an answer names, with a ticket in it. A caller that brought its own key for the provider
// gets none: nobody else's is to pay for it.
func (x *exchange) ticketed(provider, address string) string {
	path, query, _ := strings.Cut(address, "?")
	if x.brings(provider) {
		return address
	}
	ticket := x.cfg.Keys.ticket(x.key, passAddress(provider, path, query))
	if ticket == "" {
		return address
	}
	if query != "" {
		query += "&"
	}
	return path + "?" + query + ticketField + "=" + ticket
}

// admitted says whether a request that brings no key has a ticket for its address. A new upload takes a key.
func (x *exchange) admitted(provider, path string) (ok bool) {
	query := x.r.URL.Query()
	if presented(x.r.Header) != "" || query.Get("key") != "" || x.r.Method == http.MethodGet || strings.Contains(strings.ToLower(x.r.Header.Get("X-Goog-Upload-Command")), "start") {
		return false
	}
	x.key, ok = x.cfg.Keys.holder(query.Get(ticketField), passAddress(provider, path, x.r.URL.RawQuery))
	return ok
}

// passAddress is what a ticket is for.
func passAddress(provider, path, query string) string {
	return url.PathEscape(provider) + path + "?" + passQuery(query)
}

package ingress

import (
	"net/http"
	"net/url"
	"strings"
)

// ticketField is the query parameter of a ticket. A ticket lets who has it use one address as the caller does that it was made for: Google's SDKs send no
// key to the address of an upload, which is a secret itself.
const ticketField = "evergate_ticket"

// ticketed is the address of an upload that an answer names, with a ticket in it. A caller that brought its own key for the provider
// gets none: nobody else's is to pay for it.
func (x *exchange) ticketed(provider, address string) string {
	path, query, _ := strings.Cut(address, "?")
	if x.brings(provider) {
		return address
	}
	ticket := x.who.Ticket(passAddress(provider, path, query))
	if ticket == "" {
		return address
	}
	if query != "" {
		query += "&"
	}
	return path + "?" + query + ticketField + "=" + ticket
}

// admitted says whether a request that brings no key has a ticket for its address. A new upload takes a key.
func (x *exchange) admitted(provider, path string) bool {
	query := x.r.URL.Query()
	if x.cfg.Callers == nil || presented(x.r.Header) != "" || query.Get("key") != "" || x.r.Method == http.MethodGet || strings.Contains(strings.ToLower(x.r.Header.Get("X-Goog-Upload-Command")), "start") {
		return false
	}
	who := x.cfg.Callers.Holder(query.Get(ticketField), passAddress(provider, path, x.r.URL.RawQuery), x.start)
	if who == nil {
		return false
	}
	x.who, x.key = who, who.Name
	return x.mayCome() == nil
}

// passAddress is what a ticket is for.
func passAddress(provider, path, query string) string {
	return url.PathEscape(provider) + path + "?" + passQuery(query)
}

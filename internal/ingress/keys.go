package ingress

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"evergate/internal/identity"
	"evergate/internal/route"
	"evergate/internal/wire"
)

const (
	codeRouteNotAllowed  = "route_not_allowed"
	codeSourceNotAllowed = "source_not_allowed"
	codeKeysUnavailable  = "keys_unavailable"
)

// authenticate finds out who asks where keys are wanted, and where it comes from where none are.
func (x *exchange) authenticate() *wire.Failure {
	if x.cfg.Foreign != nil && x.cfg.Foreign(x.r) {
		f := failure(http.StatusForbidden, codeForeignPage,
			"a web page of another origin may not use a gateway that asks for no key; set auth.keys, or auth.allow_anonymous: true")
		return &f
	}
	if x.cfg.Callers == nil {
		return nil
	}
	if f := x.heldOff(); f != nil {
		return f
	}
	query := ""
	if x.inPath.found { // Google's clients may send the key there
		query = x.r.URL.Query().Get("key")
	}
	key, torn := keyOf(x.r.Header, query)
	if torn {
		f := failure(http.StatusUnauthorized, codeInvalidKey,
			"the request brings different keys in several places ("+strings.Join(placesOf(x.r.Header, query), ", ")+"); send one key, in one of them")
		return &f
	}
	who, verdict := x.cfg.Callers.Find(key, x.start)
	if verdict == identity.Token {
		who, verdict = x.cfg.Callers.Verify(x.r.Context(), key, x.start)
	}
	if who != nil { // also one that is let in no more: the log tells who that was
		x.key = who.Name
	}
	if verdict == identity.Unread {
		x.w.Header()["Retry-After"] = []string{"1"}
	}
	if verdict != identity.Welcome {
		x.notKnown(verdict)
		return unwelcome(verdict)
	}
	x.who = who
	return x.mayCome()
}

// mayCome says why the caller may not use the route, or not from where it is; nil: it may.
func (x *exchange) mayCome() *wire.Failure {
	if x.who.Placed() {
		from, err := netip.ParseAddrPort(x.r.RemoteAddr)
		if err != nil || !x.who.MayComeFrom(from.Addr()) {
			f := failure(http.StatusForbidden, codeSourceNotAllowed, "the key "+strconv.Quote(x.key)+" may not be used from this address; see its sources")
			return &f
		}
	}
	return x.mayTake()
}

func (x *exchange) mayTake() *wire.Failure {
	if kind := x.kind(); !x.who.MayTake(kind) {
		f := failure(http.StatusForbidden, codeRouteNotAllowed,
			"the key "+strconv.Quote(x.key)+" may not use the route "+kind.String()+"; it may use "+strings.Join(x.who.Routes, ", "))
		return &f
	}
	return nil
}

// kind is which kind of route was taken.
func (x *exchange) kind() identity.Route {
	if x.taken != 0 || x.dialect == nil {
		return x.taken
	}
	return kinds[x.dialect.Name()]
}

// kinds are the kinds of routes by the names of their dialects.
var kinds = map[string]identity.Route{
	"chat": identity.Chat, "completions": identity.Completions, "embeddings": identity.Embeddings, "responses": identity.Responses,
	"messages": identity.Messages, "count_tokens": identity.Messages,
	"gemini": identity.Gemini, "gemini_count_tokens": identity.Gemini, "gemini_embed": identity.Gemini, "gemini_batch_embed": identity.Gemini,
	"images": identity.Images, "image_edits": identity.Images, "speech": identity.Audio, "transcriptions": identity.Audio, "translations": identity.Audio,
	"moderations": identity.Moderations, "rerank": identity.Rerank,
}

// unwelcome says why nobody is let in with what was presented.
func unwelcome(v identity.Verdict) *wire.Failure {
	const how = "; send a key of this gateway as Authorization: Bearer KEY"
	f := failure(http.StatusUnauthorized, codeInvalidKey, "the API key is not known here"+how)
	switch v {
	case identity.Welcome, identity.Unknown, identity.Token:
	case identity.Missing:
		f.Message = "the API key is missing" + how
	case identity.Mistyped:
		f.Message = "the API key is not whole, or has a slip in it: its checksum is wrong; copy it anew"
	case identity.Expired:
		f.Message = "the API key has expired; ask for a new one"
	case identity.Replaced:
		f.Message = "the API key was replaced by a new one, and the time for which both were good is over; send the new one"
	case identity.Unfit:
		f.Message = "the token is good, but lacks a claim that auth.jwt reads or requires"
	case identity.Unread:
		f = failure(http.StatusServiceUnavailable, codeKeysUnavailable,
			"what the API key is held against is not known yet: neither the state store nor an issuer's keys could be read since the start; send the request again")
	}
	return &f
}

// keyOf is the key that a request brings, in the places where SDKs send it; torn: there are several that differ.
func keyOf(h http.Header, query string) (key string, torn bool) {
	take := func(v string) {
		switch {
		case v == "" || v == key:
		case key == "":
			key = v
		default:
			torn = true
		}
	}
	for _, v := range h["Authorization"] {
		take(bearer(v))
	}
	for _, name := range keyHeaders {
		for _, v := range h[name] {
			take(v)
		}
	}
	take(query)
	return key, torn
}

// keyHeaders are those of Anthropic's, Azure's and Google's SDKs.
var keyHeaders = [...]string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// bearer is the token of an Authorization header; empty: it has another scheme, which is not for the gateway.
func bearer(v string) string {
	if scheme, token, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// placesOf says where a request brings keys.
func placesOf(h http.Header, query string) (out []string) {
	if presented(http.Header{"Authorization": h["Authorization"]}) != "" {
		out = append(out, "Authorization")
	}
	for _, name := range keyHeaders {
		if h.Get(name) != "" {
			out = append(out, strings.ToLower(name))
		}
	}
	if query != "" {
		out = append(out, "?key=")
	}
	return out
}

// presented is the key in a request's header, empty if there is none.
func presented(h http.Header) string {
	key, _ := keyOf(h, "")
	return key
}

// policiesOf are the policies of the request that do not come from its models: the caller's, and the one that it asks for itself.
func (x *exchange) policiesOf() []string {
	bound := x.who.Bound()
	if x.wishes == nil || x.wishes.Policy == "" {
		return bound
	}
	return append(bound[:len(bound):len(bound)], x.wishes.Policy)
}

// holding are policies, and those that the caller's own lists of providers make.
func (x *exchange) holding(policies []*route.Policy) []*route.Policy {
	own, team := x.who.Allowed()
	if len(own) > 0 {
		policies = append(policies, &route.Policy{Name: "key", Allow: own, Of: "the key " + strconv.Quote(x.key)})
	}
	if len(team) > 0 {
		policies = append(policies, &route.Policy{Name: "team", Allow: team, Of: "the team " + strconv.Quote(x.who.Team)})
	}
	return policies
}

// held says whether anything about the caller has a say in where its requests may go.
func (x *exchange) held() bool {
	own, team := x.who.Allowed()
	return len(x.who.Bound()) > 0 || len(own) > 0 || len(team) > 0
}

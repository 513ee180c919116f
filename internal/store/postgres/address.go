package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/store"
)

const (
	dialBound   = 2 * time.Second  // for each host, to the end of the greeting; connect_timeout of the URL takes its place
	patience    = 10 * time.Second // the server's, with a statement; a call's own context may end sooner
	farewell    = time.Second      // what Close waits for the server
	connections = 4
	idleFor     = 5 * time.Minute
	// pingAfter is how long an unused connection is taken to be sound: longer than between two beats, so that these are one round trip.
	pingAfter = 30 * time.Second
)

// address is what a URL says.
type address struct {
	pool   *pgxpool.Config
	schema string // "": the first of the search path
	hidden []string
}

var errMalformed = errors.New("the address is malformed: it is postgres://user:password@host:port,host:port/database?options, with user and password percent-encoded")

// parse reads a URL. What pgx says of a malformed one may hold parts of it, so its words are passed on only where the place of the password is known.
func parse(raw string) (*address, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return nil, errors.New("the address begins with neither postgres:// nor postgresql://")
	}
	a := &address{}
	before, query, _ := strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(before, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		_, password, _ := strings.Cut(authority[:i], ":")
		plain, err := url.PathUnescape(password)
		if err != nil || strings.Contains(authority[:i], "@") {
			return nil, errMalformed
		}
		a.hide(password, plain)
		authority = authority[i+1:]
	}
	if strings.Contains(raw, "#") || strings.ContainsAny(database, "/@:") || !portsAreNumbers(authority) {
		return nil, errMalformed // of a password that is not encoded, most likely
	}
	values, err := url.ParseQuery(query)
	if err != nil || strings.Contains(query, "@") {
		return nil, errMalformed
	}
	for _, name := range []string{"password", "sslpassword"} {
		a.hide(url.QueryEscape(values.Get(name)), values.Get(name))
	}
	a.schema = values.Get("schema")
	pooler := false
	if v := values.Get("pooler"); v != "" {
		if pooler, err = strconv.ParseBool(v); err != nil {
			return nil, errors.New("pooler is true or false")
		}
	}
	raw = scheme + "://" + before
	if rest := withoutOurs(query); rest != "" {
		raw += "?" + rest
	}
	if a.pool, err = pgxpool.ParseConfig(raw); err != nil {
		var parsing *pgconn.ParseConfigError
		if cause := errors.Unwrap(err); errors.As(err, &parsing) && cause != nil {
			return nil, fmt.Errorf("the address: %w", store.Hide(cause, a.hidden...))
		}
		return nil, errMalformed
	}
	a.hide(a.pool.ConnConfig.Password, a.pool.ConnConfig.Password) // it may come from the environment or a file
	a.settle(values, pooler)
	return a, nil
}

func (a *address) hide(encoded, plain string) { a.hidden = append(a.hidden, plain, encoded) }

// portsAreNumbers checks what stands behind the hosts' names.
func portsAreNumbers(authority string) bool {
	for host := range strings.SplitSeq(authority, ",") {
		i := strings.LastIndexByte(host, ':')
		if i < 0 || i < strings.LastIndexByte(host, ']') {
			continue
		}
		if n, err := strconv.ParseUint(host[i+1:], 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return true
}

// withoutOurs leaves out of a query what only we understand. The rest stays as it is: libpq reads a + differently.
func withoutOurs(query string) string {
	var out []string
	for option := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(option, "="); name != "schema" && name != "pooler" && option != "" {
			out = append(out, option)
		}
	}
	return strings.Join(out, "&")
}

// settle sets what the URL leaves open.
func (a *address) settle(values url.Values, pooler bool) {
	p, c := a.pool, a.pool.ConnConfig
	p.MaxConns, p.MinConns, p.MinIdleConns, p.MaxConnIdleTime = connections, 0, 0, idleFor
	p.ShouldPing = func(_ context.Context, c pgxpool.ShouldPingParams) bool { return c.IdleDuration > pingAfter }
	if !values.Has("default_query_exec_mode") {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	c.StatementCacheCapacity, c.DescriptionCacheCapacity = 0, 0
	if !values.Has("connect_timeout") {
		c.ConnectTimeout = dialBound
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "evergate"
	}
	// What runs on although the gateway gave it up, behind a lock for instance, ends by itself. A pooler takes no such setting.
	if _, own := c.RuntimeParams["statement_timeout"]; !own && !pooler {
		c.RuntimeParams["statement_timeout"] = strconv.FormatInt(patience.Milliseconds(), 10)
	}
	if len(c.Fallbacks) > 0 && !values.Has("target_session_attrs") {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
}

package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// address is what a URL says.
type address struct {
	hosts            []string // host:port
	user, password   string
	db               int
	prefix           string
	tls              *tls.Config // nil: none
	cluster, resp2   bool
	master           string // the name that Sentinels have for it; "": no Sentinels
	sentinelUser     string
	sentinelPassword string
	hidden           []string // what must not show in an error
}

// Schemes are those that Open understands; the ones with an s at the end speak TLS.
var schemes = []string{"redis", "rediss", "valkey", "valkeys", "redis+sentinel", "rediss+sentinel"}

// options are the parameters of a URL that have a meaning.
var options = []string{"ca", "cert", "key", "server_name", "prefix", "protocol", "cluster", "sentinel_master", "sentinel_username", "sentinel_password"}

var (
	errEscape  = errors.New("user or password are not percent-encoded: of the signs / ? # @ % : none may stand there as it is")
	errOptions = errors.New("an option is unknown; there are " + strings.Join(options, ", "))
)

// parse reads scheme://user:password@host:port,host:port/db?options. Its errors quote nothing of the URL but the names of schemes and options: a
// password that is not encoded may be anywhere in it.
func parse(raw string) (*address, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !slices.Contains(schemes, scheme) {
		return nil, fmt.Errorf("the address begins with none of %s", strings.Join(schemes, "://, ")+"://")
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, db, _ := strings.Cut(rest, "/")
	if fragment != "" || strings.Contains(query, "@") {
		return nil, errEscape
	}
	a := &address{}
	if err := a.parseAuthority(authority); err != nil {
		return nil, err
	}
	if db != "" {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil {
			return nil, errors.New("after the host stands no number of a database, or user or password are not percent-encoded")
		}
		a.db = int(n)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("the options after ? are malformed")
	}
	secure := strings.HasPrefix(scheme, "rediss") || scheme == "valkeys"
	if err := a.parseOptions(values, secure); err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(scheme, "+sentinel") && a.master == "":
		return nil, errors.New("sentinel_master is missing: the name that the Sentinels have for the master")
	case a.master != "" && a.cluster:
		return nil, errors.New("sentinel_master and cluster do not go together")
	case len(a.hosts) > 1 && a.master == "" && !a.cluster:
		return nil, errors.New("several hosts are Sentinels (sentinel_master=name) or a Cluster (cluster=true): say which")
	case a.cluster && a.db != 0:
		return nil, errors.New("a Cluster has database 0 only")
	}
	return a, nil
}

func (a *address) parseAuthority(authority string) error {
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, password, _ := strings.Cut(authority[:i], ":")
		var err1, err2 error
		a.user, err1 = url.PathUnescape(user)
		a.password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil || strings.ContainsAny(authority[:i], "@") {
			return errEscape
		}
		a.hide(password, a.password)
		authority = authority[i+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		name, port := host, "6379"
		if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
			name, port = host[:i], host[i+1:]
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("a port is no number from 1 to 65535, or user or password are not percent-encoded")
		}
		if name == "" {
			return errors.New("a host is missing")
		}
		a.hosts = append(a.hosts, net.JoinHostPort(name, port))
	}
	return nil
}

func (a *address) hide(encoded, plain string) {
	a.hidden = append(a.hidden, plain, encoded)
}

func (a *address) parseOptions(values url.Values, secure bool) error {
	for name := range values {
		if !slices.Contains(options, name) {
			return errOptions
		}
	}
	a.prefix, a.master = values.Get("prefix"), values.Get("sentinel_master")
	a.sentinelUser, a.sentinelPassword = values.Get("sentinel_username"), values.Get("sentinel_password")
	a.hide(url.QueryEscape(a.sentinelPassword), a.sentinelPassword)
	if strings.ContainsAny(a.prefix, "{}") {
		return errors.New("prefix may not have braces: they say which part of a key is hashed")
	}
	switch values.Get("protocol") {
	case "", "3":
	case "2":
		a.resp2 = true
	default:
		return errors.New("protocol is 2 or 3")
	}
	var err error
	if v := values.Get("cluster"); v != "" {
		if a.cluster, err = strconv.ParseBool(v); err != nil {
			return errors.New("cluster is true or false")
		}
	}
	if !secure {
		for _, name := range []string{"ca", "cert", "key", "server_name"} {
			if values.Has(name) {
				return fmt.Errorf("%s is for TLS: rediss:// or valkeys://", name)
			}
		}
		return nil
	}
	a.tls, err = secured(values.Get("ca"), values.Get("cert"), values.Get("key"), values.Get("server_name"))
	return err
}

// secured is TLS as the options say: trust in the certificates of a file in place of the system's, and a certificate of our own.
func secured(ca, cert, key, name string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	if ca != "" {
		pem, err := os.ReadFile(ca) //nolint:gosec // the operator says which file
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("ca: there is no certificate (PEM) in that file")
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

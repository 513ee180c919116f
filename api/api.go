// Package api is the description of the HTTP interfaces that tools and pages read. It knows of no code that serves them.
package api

import _ "embed"

// Admin is the OpenAPI document of the admin API, in YAML.
//
//go:embed admin.yaml
var Admin []byte

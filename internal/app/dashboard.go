package app

import (
	"net/http"

	"evergate/internal/admin"
	"evergate/internal/dashboard"
)

// operators serves the dashboard beside the admin API, and clients beside both unless clients is nil: the admin API then has a
// listener of its own.
func (a *App) operators(clients http.Handler) http.Handler {
	page := dashboard.New(dashboard.Options{DataPlane: clients != nil})
	if clients == nil {
		clients = http.HandlerFunc(a.serveAdmin)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case admin.Owns(r.URL.Path):
			a.serveAdmin(w, r)
		case dashboard.Owns(r.URL.Path):
			page.ServeHTTP(w, r)
		case dashboard.Asked(r):
			http.Redirect(w, r, dashboard.Path, http.StatusTemporaryRedirect)
		default:
			clients.ServeHTTP(w, r)
		}
	})
}

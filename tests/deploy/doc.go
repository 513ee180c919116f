// Package deploy has only tests: they hold what deploy/ ships to the tools that will read it (BuildKit, Compose, Helm,
// Kubernetes, systemd) as far as those can be had as libraries or packages, and run the program as it will be run there. It is a
// module of its own, so that none of that is a dependency of the gateway.
package deploy

// Package config turns a YAML file and the environment into checked, complete, frozen values: what a server listens
// on, which providers there are and how they are treated, which models route where (CONTRACT §2). It reports every
// mistake at once, each with line, path and fix. It knows no HTTP, starts nothing and reads no file but the one it is
// given; no package but app and the command line imports it.
//
// The parts: node.go reads YAML into a tree with positions, expand.go puts environment variables in, shape.go and
// scalar.go say what a value may look like (for strict reading and for the JSON Schema alike), keys.go lists every
// key, file.go holds what was written, inherit.go finds the effective settings, build.go and the files beside it make
// the Config.
package config

//go:build !linux

package sqlite

// ofThisSystem is empty: users without rights and full disks are made on Linux alone.
var ofThisSystem map[string]func(string) error

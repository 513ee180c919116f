package postgres

// LockOf is the number of the advisory lock that a schema's migration takes.
var LockOf = lockOf

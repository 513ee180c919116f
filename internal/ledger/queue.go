package ledger

import "sync"

// queue is where rows wait for the one who writes them. Whoever puts a row in wakes him only for the first one and once a batch is full: a wake-up for each
// row would cost more than the row. Safe for concurrent use; one goroutine takes.
type queue struct {
	mu    sync.Mutex
	ring  []*item // of a fixed size
	first int
	n     int
	bytes int64   // of those that wait, without bodies
	taken []*item // those being written: they can still be found
	spare []*item // room for the next ones; the taker's
	ended bool

	// wake has something in it after the first row came, and after a batch was full.
	wake chan struct{}
}

func newQueue(rows int) *queue {
	return &queue{ring: make([]*item, rows), wake: make(chan struct{}, 1)}
}

// put adds a row, and never waits. Where there is no room the oldest ones go: they are gone, to be counted and given back. false: the queue has ended, and the row is
// the caller's.
func (q *queue) put(i *item, gone func(*item)) bool {
	size := i.size()
	q.mu.Lock()
	if q.ended {
		q.mu.Unlock()
		return false
	}
	for q.n > 0 && (q.n == len(q.ring) || q.bytes+size > maxWaitingBytes) {
		gone(q.pop())
	}
	q.ring[(q.first+q.n)%len(q.ring)] = i
	q.n++
	q.bytes += size
	wake := q.n == 1 || q.n == batchRows
	q.mu.Unlock()
	if wake {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// pop gives the oldest row. The lock is the caller's.
func (q *queue) pop() *item {
	i := q.ring[q.first]
	q.ring[q.first] = nil
	q.first, q.n = (q.first+1)%len(q.ring), q.n-1
	q.bytes -= i.size()
	return i
}

// take gives the oldest rows, at most most of them. They can be found until done.
func (q *queue) take(most int) []*item {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := len(q.taken)
	for range min(most, q.n) {
		q.taken = append(q.taken, q.pop())
	}
	return q.taken[from:]
}

// done says that what was taken is written, or given up, but for the rows that are left.
func (q *queue) done(left []*item) {
	stays := make(map[*item]bool, len(left))
	for _, i := range left {
		stays[i] = true
	}
	q.mu.Lock()
	rows := q.taken
	q.taken, q.spare = append(q.spare, left...), nil
	q.mu.Unlock()
	for n, i := range rows {
		if rows[n] = nil; !stays[i] {
			free(i)
		}
	}
	q.spare = rows[:0]
}

// waiting is how many rows wait, and how many bytes they have.
func (q *queue) waiting() (rows int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n, q.bytes
}

// end lets no more rows in.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
}

// find gives copies of the rows of a request that are not yet written, the oldest first.
func (q *queue) find(id string) (rows [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	look := func(i *item) {
		if !i.entry && string(IDOf(i.bytes)) == id {
			rows = append(rows, append([]byte(nil), i.bytes...))
		}
	}
	for _, i := range q.taken {
		look(i)
	}
	for k := range q.n {
		look(q.ring[(q.first+k)%len(q.ring)])
	}
	return rows
}

package threads

// Deletion is an answer that its owner deleted.
type Deletion struct{ Owner, ID string }

// maxDeleted is how many deletions wait to be told.
const maxDeleted = 4000

// Deleted are the deletions since it was last called, the oldest first; the last 4,000 of them. There are some only with an archive: without one,
// nobody else has an answer.
func (s *Store) Deleted() []Deletion {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.deleted
	s.deleted = nil
	return out
}

// Forget drops answers that were deleted elsewhere from memory.
func (s *Store) Forget(deleted []Deletion) {
	for _, d := range deleted {
		if s.behind != nil {
			s.behind.mu.Lock()
			s.behind.forget(key{d.Owner, d.ID})
			s.behind.mu.Unlock()
		}
		s.mu.Lock()
		if el := s.entries[key{d.Owner, d.ID}]; el != nil {
			s.drop(el)
		}
		s.mu.Unlock()
	}
}

// noteDeletion requires the lock.
func (s *Store) noteDeletion(k key) {
	if s.behind == nil {
		return
	}
	if len(s.deleted) == maxDeleted {
		s.deleted = s.deleted[1:]
	}
	s.deleted = append(s.deleted, Deletion{k.owner, k.id})
}

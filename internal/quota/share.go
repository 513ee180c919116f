package quota

// Lease is how much of a limit an instance may let in without having told the others: 2 %, at least 1.
func Lease(limit int64) int64 { return max(1, limit/50) }

// Share is what an instance of a fleet knows of one counter: what is used or held, by itself and by the others. Alone there are no others, and
// nothing is unsaid.
type Share struct {
	Limit int64
	// Own is this instance's, Unsaid the part of it that the others cannot know, and Others theirs, as last heard.
	Own, Unsaid, Others int64
	// Instances is how many there are.
	Instances int64
}

// Refusal is why a Share lets nothing in.
type Refusal uint8

// The refusals.
const (
	Admitted Refusal = iota
	Full             // the limit is reached
	Cautious         // it may be: too much was let in that the others do not know of
)

// Admit says whether one more may come in: the one that crosses the limit does, the next does not. What is known to all counts in full; beside it each
// instance lets in a lease, or an equal part of what is left if that is more. So of a limit no more than the limit and one lease an instance are
// used where all know the same, also while none hears of another.
func (s Share) Admit() Refusal {
	if s.Limit <= 0 {
		return Admitted
	}
	if s.Own+s.Others >= s.Limit {
		return Full
	}
	if s.Instances <= 1 {
		return Admitted
	}
	if known := s.Own + s.Others - max(s.Unsaid, 0); s.Unsaid >= max(Lease(s.Limit), (s.Limit-known)/s.Instances) {
		return Cautious
	}
	return Admitted
}

// Urgent says whether the others are to hear at once of what they do not know.
func (s Share) Urgent() bool {
	return s.Limit > 0 && s.Unsaid >= Lease(s.Limit)
}

// Far says whether the limit is so far away that the others may hear of it later.
func (s Share) Far() bool { return s.Limit <= 0 || s.Own+s.Others < s.Limit/2 }

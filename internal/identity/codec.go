package identity

import (
	"encoding/json"
	"time"
)

// recordVersion is that of the form in which records are kept. One of another version is passed over.
const recordVersion = 1

// recordBody is a record in a store. Times are Unix milliseconds, 0 is none. Fields that are not known are passed over, so that a later
// program may add some.
type recordBody struct {
	Version   int        `json:"v"`
	ID        string     `json:"id"`
	Terms     Terms      `json:"terms"`
	Created   int64      `json:"created"`
	Changed   int64      `json:"changed"`
	Revoked   int64      `json:"revoked,omitempty"`
	CreatedBy string     `json:"created_by,omitempty"`
	ChangedBy string     `json:"changed_by,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Salt      []byte     `json:"salt,omitempty"`
	Hashes    []hashBody `json:"hashes,omitempty"`
}

type hashBody struct {
	Sum   []byte `json:"hmac"`
	Until int64  `json:"until,omitempty"`
}

// MaxReason is how long a reason may be, and who said it, in bytes.
const MaxReason = 500

// Encode is a record as it is kept in a store.
func (r *Record) Encode() []byte {
	b := recordBody{
		Version: recordVersion, ID: r.ID, Terms: TermsOf(&r.Principal), Created: millis(r.Created), Changed: millis(r.Changed), Revoked: millis(r.Revoked),
		CreatedBy: r.CreatedBy, ChangedBy: r.ChangedBy, Reason: r.Reason,
	}
	for i := range r.Hashes {
		if h := &r.Hashes[i]; !h.none() {
			b.Hashes = append(b.Hashes, hashBody{h.Sum[:], millis(h.Until)})
			b.Salt = r.Salt[:]
		}
	}
	text, err := json.Marshal(&b)
	if err != nil {
		return nil // there is nothing in it that JSON cannot say
	}
	return text
}

// DecodeRecord reads what Encode wrote, of a version; ok is false for what this program does not know, or what cannot be true: what others
// wrote is not trusted.
func DecodeRecord(version uint64, text []byte) (r Record, ok bool) {
	var b recordBody
	if json.Unmarshal(text, &b) != nil || b.Version != recordVersion || len(b.ID) != idSize || !plain(b.ID) || len(b.Hashes) > len(r.Hashes) || version == 0 {
		return r, false
	}
	terms, err := b.Terms.Principal()
	if err != nil || len(b.CreatedBy) > MaxReason || len(b.ChangedBy) > MaxReason || len(b.Reason) > MaxReason {
		return r, false
	}
	r = Record{
		Principal: terms, Created: moment(b.Created), Changed: moment(b.Changed), Revoked: moment(b.Revoked),
		CreatedBy: b.CreatedBy, ChangedBy: b.ChangedBy, Reason: b.Reason, Version: version,
	}
	r.ID = b.ID
	if len(b.Salt) != 0 && len(b.Salt) != saltSize || (len(b.Salt) == 0) != (len(b.Hashes) == 0) {
		return r, false
	}
	copy(r.Salt[:], b.Salt)
	for i := range b.Hashes {
		h := &b.Hashes[i]
		if len(h.Sum) != len(r.Hashes[i].Sum) || i > 0 && h.Until == 0 {
			return r, false
		}
		r.Hashes[i] = Hash{digest(h.Sum), moment(h.Until)}
	}
	if (version == lastVersion) != (b.Revoked != 0) || (b.Revoked != 0) != (len(b.Hashes) == 0) {
		return r, false
	}
	return r, true
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// maxMoment is the end of the year 9999.
const maxMoment = 253_402_300_799_999

func moment(ms int64) time.Time {
	if ms <= 0 || ms > maxMoment {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

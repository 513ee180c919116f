package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)

// desk is a book with a few keys of the config and one that was made here.
func desk(t testing.TB) (*Book, Record, string) {
	t.Helper()
	b := NewBook()
	b.Configure([]Own{
		{Principal{Name: "ci", Team: "core", Policies: []string{"eu"}}, "ci-secret"},
		{Principal{Name: "narrow", Models: []string{"fast"}}, "narrow-secret"},
		{Principal{Name: "old", Expires: start}, "old-secret"},
	}, []Team{{Name: "core", Models: []string{"fast", "slow"}, Policies: []string{"eu", "none"}, Guardrails: []string{"pii"}, Providers: []string{"a"}}})
	r, key := newRecord(Principal{Name: "night", Owner: "ada", Expires: start.Add(time.Hour)}, "test", start.Add(-time.Hour))
	if b.Hear(r) != 1 {
		t.Fatal("a new record is no news")
	}
	return b, r, key
}

func summed(text string) string {
	sum := check(text)
	return text + string(sum[:])
}

func TestFind(t *testing.T) {
	t.Parallel()
	b, r, key := desk(t)
	other, unknown := newRecord(Principal{Name: "x"}, "", start)
	another := func(at int) string { // the key with another letter there
		if key[at] == 'x' {
			return key[:at] + "y" + key[at+1:]
		}
		return key[:at] + "x" + key[at+1:]
	}
	_, sameID := newRecord(Principal{}, "", start)
	sameID = keyPrefix + r.ID + "_" + sameID[secretAt:checkAt]
	sameID = summed(sameID)
	tests := []struct {
		name, key string
		at        time.Duration
		who       string
		verdict   Verdict
	}{
		{"of the config", "ci-secret", 0, "ci", Welcome},
		{"another of the config", "narrow-secret", 0, "narrow", Welcome},
		{"of the config, before its end", "old-secret", -time.Nanosecond, "old", Welcome},
		{"of the config, at its end", "old-secret", 0, "old", Expired},
		{"made here", key, 0, "night", Welcome},
		{"made here, before its end", key, time.Hour - time.Nanosecond, "night", Welcome},
		{"made here, at its end", key, time.Hour, "night", Expired},
		{"nothing", "", 0, "", Missing},
		{"a part of one of the config", "ci-secre", 0, "", Unknown},
		{"one of the config and more", "ci-secret ", 0, "", Unknown},
		{"an unknown id", unknown, 0, "", Unknown},
		{"a known id with another secret", sameID, 0, "", Unknown},
		{"a slip", another(20), 0, "", Mistyped},
		{"a wrong checksum", another(checkAt), 0, "", Mistyped},
		{"cut off", key[:keySize-1], 0, "", Mistyped},
		{"the prefix alone", keyPrefix, 0, "", Mistyped},
		{"not UTF-8", "\xff\x00", 0, "", Unknown},
		{"the id alone", r.ID, 0, "", Unknown},
		{"the hash in the secret's place", keyPrefix + r.ID + "_" + strings.Repeat("A", secretSize), 0, "", Mistyped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			who, verdict := b.Find(tt.key, start.Add(tt.at))
			if verdict != tt.verdict || (who == nil) != (tt.who == "") || who != nil && who.Name != tt.who {
				t.Errorf("got %v %v, want %q %v", who, verdict, tt.who, tt.verdict)
			}
		})
	}
	b.Await()
	if _, v := b.Find(unknown, start); v != Unread {
		t.Errorf("before the store was read an unknown key that is whole gets %v", v)
	}
	if _, v := b.Find("guess", start); v != Unknown {
		t.Errorf("before the store was read what cannot be a key of it gets %v", v)
	}
	if who, v := b.Find(key, start); v != Welcome || who.ID != r.ID {
		t.Errorf("before the store was read a known key gets %v", v)
	}
	b.Ready()
	if _, v := b.Find(unknown, start); v != Unknown {
		t.Errorf("then %v", v)
	}
	b.Hear(other)
	if who, v := b.Find(unknown, start); v != Welcome || who.Name != "x" {
		t.Errorf("one that comes later gets %v", v)
	}
}

// What is presented decides nothing about how much is hashed and compared, so that time tells nothing of it.
func TestFindDoesTheSameWhateverIsPresented(t *testing.T) {
	t.Parallel()
	b, r, key := desk(t)
	_, unknown := newRecord(Principal{}, "", start)
	gone, revoked := newRecord(Principal{Name: "gone"}, "", start)
	b.Hear(gone.revoked("", "", start))
	near := keyPrefix + r.ID + "_" + key[secretAt:checkAt-1] + "0"
	near = summed(near)
	for _, presented := range []string{"", "x", "ci-secret", "ci-secreT", "old-secret", key, key[:30], near, unknown, revoked, strings.Repeat("y", 1<<16), "\xff"} {
		var w work
		b.find(presented, start, &w)
		if w != (work{hashes: 2, compares: 2}) {
			t.Errorf("%.70q: %+v", presented, w)
		}
	}
}

// What is random, and what is nearly a key, lets nobody in.
func TestNoRandomKeyIsAccepted(t *testing.T) {
	t.Parallel()
	tries := 20_000
	if os.Getenv("EVERGATE_MILLION") != "" {
		tries = 1_000_000
	}
	b := NewBook()
	keys := make([]string, 0, 20)
	own := make([]Own, 10)
	for i := range own {
		own[i] = Own{Principal{Name: string(rune('a' + i))}, draw(8 + i)}
		keys = append(keys, own[i].Value)
	}
	b.Configure(own, nil)
	for i := range 10 {
		r, key := newRecord(Principal{Name: string(rune('k' + i))}, "", start)
		b.Hear(r)
		keys = append(keys, key)
	}
	rnd := rand.New(rand.NewPCG(8, 2027))
	for range tries {
		guess := mutated(rnd, keys)
		if who, v := b.Find(guess, start); v == Welcome || who != nil {
			t.Fatalf("%q is let in as %v", guess, who)
		}
	}
	for i, key := range keys {
		if who, v := b.Find(key, start); v != Welcome {
			t.Errorf("key %d: %v %v", i, who, v)
		}
	}
}

// mutated is nearly one of some keys, and none of them; or it is random.
func mutated(rnd *rand.Rand, keys []string) string {
	for {
		k := keys[rnd.IntN(len(keys))]
		b := []byte(k)
		i := rnd.IntN(len(b))
		switch rnd.IntN(9) {
		case 0:
			b[i] ^= 1 << rnd.IntN(8)
		case 1:
			b = append(b[:i], b[i+1:]...)
		case 2:
			b = append(b[:i:i], append([]byte{letters[rnd.IntN(62)]}, b[i:]...)...)
		case 3:
			j := rnd.IntN(len(b))
			b[i], b[j] = b[j], b[i]
		case 4:
			b = []byte(strings.ToUpper(k))
		case 5: // the head of one and the tail of another
			other := keys[rnd.IntN(len(keys))]
			b = append(b[:i:i], other[min(i, len(other)):]...)
		case 6: // whole, of another secret
			_, secret := mint(draw(idSize))
			b = []byte(keyPrefix + draw(idSize) + "_" + secret)
			b = []byte(summed(string(b)))
		case 7: // a known id, and a secret that differs in one letter
			if id, secret, f := split(k); f == sound {
				s := []byte(secret)
				s[i%len(s)] = letters[rnd.IntN(62)]
				b = []byte(keyPrefix + id + "_" + string(s))
				b = []byte(summed(string(b)))
			}
		default:
			b = make([]byte, rnd.IntN(80))
			for j := range b {
				b[j] = byte(rnd.IntN(256))
			}
		}
		found := false
		for _, key := range keys {
			found = found || key == string(b)
		}
		if !found {
			return string(b)
		}
	}
}

func TestRoundsOfAKey(t *testing.T) {
	t.Parallel()
	b, r, first := desk(t)
	verdict := func(key string, at time.Time) Verdict { _, v := b.Find(key, at); return v }
	turned, second := r.rotated(10*time.Minute, "ada", "", start.Add(time.Microsecond))
	b.Hear(turned)
	end := start.Add(10 * time.Minute)
	for _, tt := range []struct {
		name, key string
		at        time.Time
		want      Verdict
	}{
		{"the new one", second, start, Welcome},
		{"the old one", first, start, Welcome},
		{"the old one, a millisecond before its end", first, end.Add(-time.Millisecond), Welcome},
		{"the old one, at its end", first, end, Replaced},
		{"the new one, then", second, end, Welcome},
	} {
		if got := verdict(tt.key, tt.at); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	again, third := turned.rotated(0, "ada", "leaked", start)
	b.Hear(again)
	if a, c, d := verdict(first, start), verdict(second, start), verdict(third, start); a != Unknown || c != Unknown || d != Welcome {
		t.Errorf("after a rotation without overlap: %v %v %v", a, c, d)
	}
	b.Hear(turned) // late
	if v := verdict(second, start); v != Unknown {
		t.Errorf("what is older came to stand: %v", v)
	}
	over := again.revoked("ada", "leaked", start)
	b.Hear(over)
	late := again
	late.Version += 5 // somebody changed it meanwhile, and did not know
	b.Hear(late)
	if v := verdict(third, start); v != Unknown {
		t.Errorf("a revoked key: %v", v)
	}
	if owner, _, _, known := b.Words("night"); !known || owner != "ada" {
		t.Error("nothing is known of a revoked key")
	}
	if over.Hashes != [2]Hash{} {
		t.Error("a revoked key has hashes")
	}
	b.Forget(r.ID)
	if _, _, _, known := b.Words("night"); known || len(b.Records()) != 0 {
		t.Error("it is not forgotten")
	}
}

func TestTeams(t *testing.T) {
	t.Parallel()
	b, r, key := desk(t)
	who := b.Named("ci")
	if !who.MayUse("fast") || who.MayUse("huge") || !who.Picky() {
		t.Error("a team's models do not hold")
	}
	if got := strings.Join(who.Bound(), ","); got != "eu,none" {
		t.Errorf("policies %s", got)
	}
	if own, team := who.Allowed(); own != nil || len(team) != 1 {
		t.Errorf("providers %v %v", own, team)
	}
	if len(who.Guarded()) != 1 || who.Of == nil || b.Team("core") != who.Of {
		t.Error("the team is not known")
	}
	r.Team = "late"
	r.Version++
	b.Hear(r)
	if who := b.Named("night"); who.Of != nil || who.Picky() {
		t.Error("a team that is none bounds")
	}
	b.Find(key, start)
	b.Configure(nil, []Team{{Name: "late", Models: []string{"fast"}}})
	if who, v := b.Find(key, start); v != Welcome || !who.Picky() || !who.LastUsed().Equal(start) {
		t.Errorf("after a reload: %v, last used %v", v, who.LastUsed())
	}
	if _, v := b.Find("ci-secret", start); v != Unknown {
		t.Error("a key that the config lost still lets in")
	}
}

// Two callers of one name would see each other's conversations.
func TestOneNameIsOneCaller(t *testing.T) {
	t.Parallel()
	b, r, key := desk(t)
	twin, twinKey := newRecord(Principal{Name: r.Name}, "", r.Created.Add(time.Millisecond))
	b.Hear(twin)
	if _, v := b.Find(twinKey, start); v != Unknown {
		t.Errorf("the second of a name: %v", v)
	}
	if _, v := b.Find(key, start); v != Welcome {
		t.Errorf("the first: %v", v)
	}
	earlier, earlierKey := newRecord(Principal{Name: r.Name}, "", r.Created.Add(-time.Millisecond)) // in whichever order they are heard
	b.Hear(earlier)
	if _, v := b.Find(key, start); v != Unknown {
		t.Errorf("the second, heard first: %v", v)
	}
	b.Configure([]Own{{Principal{Name: r.Name}, "own"}}, nil)
	if who, v := b.Find("own", start); v != Welcome || who.ID != "" {
		t.Errorf("the config's: %v", v)
	}
	if _, v := b.Find(earlierKey, start); v != Unknown {
		t.Errorf("one made here beside the config's: %v", v)
	}
	b.Configure(nil, nil)
	b.Hear(earlier.revoked("", "", start))
	if _, v := b.Find(key, start); v != Welcome {
		t.Errorf("the next one after the first was revoked: %v", v)
	}
}

func TestWhatAPrincipalMay(t *testing.T) {
	t.Parallel()
	var nobody *Principal
	if !nobody.MayUse("x") || !nobody.MayTake(Passthrough) || !nobody.MayComeFrom(netip.Addr{}) || nobody.Picky() || nobody.Placed() || nobody.Bound() != nil || nobody.Ticket(upload1) != "" || !nobody.LastUsed().IsZero() {
		t.Error("without keys everybody may do everything")
	}
	p := &Principal{Routes: []string{"chat", "models"}, Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}}
	p.settle(nil, nil)
	for r := Chat; r <= Passthrough; r++ {
		if got, want := p.MayTake(r), r == Chat || r == Models; got != want {
			t.Errorf("%s: %v", r, got)
		}
	}
	if p.MayTake(0) {
		t.Error("a route of no kind is allowed to one who may use some")
	}
	for addr, want := range map[string]bool{
		"10.1.2.3": true, "11.0.0.1": false, "::ffff:10.0.0.1": true, "2001:db8::1%eth0": true, "2001:db9::1": false, "127.0.0.1": false,
	} {
		if got := p.MayComeFrom(netip.MustParseAddr(addr)); got != want {
			t.Errorf("from %s: %v", addr, got)
		}
	}
	if p.MayComeFrom(netip.Addr{}) {
		t.Error("from nowhere")
	}
	odd := &Principal{Routes: []string{"nonsense"}}
	odd.settle(nil, nil)
	if odd.MayTake(Chat) {
		t.Error("a list of words that are none allows all")
	}
}

// Addresses of uploads under way.
const upload1, upload2 = "a/upload/v1beta/files?upload_id=1", "a/upload/v1beta/files?upload_id=2"

func TestTickets(t *testing.T) {
	t.Parallel()
	b, r, key := desk(t)
	who, _ := b.Find(key, start)
	ticket, own := who.Ticket(upload1), b.Named("ci").Ticket(upload1)
	if h := b.Holder(ticket, upload1, start); h != who {
		t.Errorf("the holder of a ticket is %v", h)
	}
	if h := b.Holder(own, upload1, start); h == nil || h.Name != "ci" {
		t.Errorf("the holder of the other is %v", h)
	}
	for name, h := range map[string]*Principal{
		"another address": b.Holder(ticket, upload2, start), "cut": b.Holder(ticket[:20], upload1, start), "none": b.Holder("", upload1, start),
		"expired": b.Holder(ticket, upload1, start.Add(time.Hour)), "mixed": b.Holder(ticket[:11]+own[11:], upload1, start),
	} {
		if h != nil {
			t.Errorf("%s: %v", name, h)
		}
	}
	turned, _ := r.rotated(time.Minute, "", "", start)
	b.Hear(turned)
	if b.Holder(ticket, upload1, start.Add(time.Minute-1)) == nil || b.Holder(ticket, upload1, start.Add(time.Minute)) != nil {
		t.Error("a ticket of a key that was replaced is good as long as the key is")
	}
	again := NewBook() // another process of the fleet
	again.Hear(turned)
	if again.Holder(ticket, upload1, start) == nil {
		t.Error("a ticket is of no use elsewhere")
	}
	b.Hear(turned.revoked("", "", start))
	if b.Holder(ticket, upload1, start) != nil {
		t.Error("a ticket outlives its key")
	}
}

func TestChecksum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		want, got := crc32.ChecksumIEEE([]byte(text)), uint32(0)
		for _, c := range check(text) {
			got = got*62 + uint32(strings.IndexByte(letters, c))
		}
		if got != want {
			t.Errorf("%d, want %d", got, want)
		}
	})
}

func TestMAC(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "key")
		text := rapid.SliceOfN(rapid.Byte(), 0, 1000).Draw(t, "text")
		want := hmac.New(sha256.New, key)
		want.Write(text)
		k := newMacKey(key)
		if got := k.sum(string(text)); !hmac.Equal(got[:], want.Sum(nil)) {
			t.Errorf("%x", got)
		}
	})
}

func TestFindTakesNothingOfTheHeap(t *testing.T) {
	b, _, key := desk(t)
	for _, presented := range []string{"ci-secret", key, "unknown", strings.Repeat("z", 300)} {
		if n := testing.AllocsPerRun(100, func() { b.Find(presented, start) }); n != 0 {
			t.Errorf("%.20s: %v allocations", presented, n)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	book, _, key := desk(b)
	for range 10_000 {
		r, _ := newRecord(Principal{Name: draw(12)}, "", start)
		book.Hear(r)
	}
	for name, presented := range map[string]string{"config": "ci-secret", "made": key, "unknown": "nobody's"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				book.Find(presented, start)
			}
		})
	}
}

// Who reads the store has what tickets are signed with. They are good for nothing that he can name: only for an upload whose id its provider told to who began it.
func TestTicketsOfWhoReadsTheStore(t *testing.T) {
	t.Parallel()
	b, r, _ := desk(t)
	stolen, ok := DecodeRecord(r.Version, r.Encode())
	if !ok {
		t.Fatal("the record is not read")
	}
	s := sealOf(stolen.Hashes[0].Sum[:])
	if b.Holder(s.ticket(upload1), upload1, start) == nil {
		t.Fatal("it is not how tickets are made")
	}
	for _, address := range []string{
		"a/v1/chat/completions?", "a/v1/chat/completions?upload_id=1", "a/v1beta/models/m:generateContent?x=/upload/&upload_id=1", "a/upload/v1beta/files?", "a/upload/v1beta/files",
		"a/upload/v1beta/files?upload_id=", "a/upload/v1beta/files?x=upload_id=1", "a/upload/v1beta/files?upload_id=1;x", "a/uploads?upload_id=1", "a/v1/upload/x?upload_id=1", "upload/x?upload_id=1", "upload?upload_id=1", "",
	} {
		if h := b.Holder(s.ticket(address), address, start); h != nil {
			t.Errorf("%s may be used as %s", address, h.Name)
		}
		if ticket := b.Named("night").Ticket(address); ticket != "" {
			t.Errorf("%s gets a ticket", address)
		}
	}
}

package wiretest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/sse"
	"evergate/internal/wire"
)

// recording is one answer of a provider, as another project recorded it; testdata/recorded/README.md says which.
type recording struct {
	file    string // folder and name
	dialect wire.Dialect
}

// recordings are all that there are.
func recordings() []recording {
	var out []recording
	for _, f := range folders() {
		for _, name := range f.files {
			out = append(out, recording{f.name + "/" + name, f.dialect})
		}
	}
	return out
}

// recordedAnswers are the recordings of a generation that went well, in a dialect that an upstream speaks.
func recordedAnswers() []recording {
	var out []recording
	for _, r := range recordings() {
		if _, ok := r.dialect.(wire.Upstream); ok && faults()[r.file] == nil {
			out = append(out, r)
		}
	}
	return out
}

// streamed says that a recording is a stream of events.
func (r *recording) streamed() bool { return !strings.HasSuffix(r.file, ".json") }

// body is what the provider sent; AWS's binary frames are server-sent events here, as provider/bedrock makes them.
func (r *recording) body(t testing.TB) []byte {
	t.Helper()
	data := read(t, filepath.Join("testdata", "recorded", r.file))
	if strings.HasSuffix(r.file, ".eventstream") {
		return eventsOfFrames(t, data)
	}
	return data
}

// events are the data of a stream's events, cut as the gateway cuts it.
func (r *recording) events(t testing.TB) [][]byte {
	t.Helper()
	return cutEvents(t, r.body(t))
}

// cutEvents cuts a stream into the data of its events.
func cutEvents(t testing.TB, stream []byte) (out [][]byte) {
	t.Helper()
	split := sse.Splitter{Whole: wire.WholeEvent}
	for {
		f, n, err := split.Next(stream, true)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return out
		}
		stream = stream[n:]
		if !f.Comment {
			out = append(out, append([]byte(nil), f.Data...))
		}
	}
}

// Every file that is there is in the table, in a dialect that exists, and what is in the table is there.
func TestRecordedTable(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, r := range recordings() {
		switch {
		case listed[r.file]:
			t.Errorf("%s is there twice", r.file)
		case r.dialect == nil || r.dialect.Name() == "":
			t.Errorf("%s is in no dialect", r.file)
		}
		listed[r.file] = true
	}
	root := filepath.Join("testdata", "recorded")
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() || name == "README.md" || name == ".gitattributes" || strings.HasPrefix(name, "LICENSES/") {
			return err
		}
		found[name] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range found {
		if listed[name] {
			continue
		}
		base, isRequest := strings.CutSuffix(name, ".request.json")
		if !isRequest || !listed[base+".json"] && !listed[base+".sse"] && !listed[base+".eventstream"] {
			t.Errorf("%s is in no table", name)
		}
	}
	for name := range listed {
		if !found[name] {
			t.Errorf("%s is missing", name)
		}
	}
	for name := range faults() {
		if !listed[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders() {
		_, section, ok := strings.Cut(string(readme), "\n## "+f.name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, name := range f.files {
			if !ok || !strings.Contains(section, "`"+name+"`") {
				t.Errorf("README.md does not say where %s/%s is from", f.name, name)
			}
		}
	}
}

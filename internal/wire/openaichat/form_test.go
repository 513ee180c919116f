package openaichat

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evergate/internal/wire"
)

func transcriptions() Form {
	for _, d := range Asides() {
		if f, ok := d.(Form); ok && f.Name() == "transcriptions" {
			return f
		}
	}
	panic("there are none")
}

const formType = "multipart/form-data; boundary=b"

// part is one part as a client writes it.
func part(name, value string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

func TestReadForm(t *testing.T) {
	file := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"model\"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--bc\r\n\r\n"
	for _, tt := range []struct {
		name, body string
		want       wire.Request // what is read; Model "": an error
		says       string
	}{
		{"model", part("model", "m") + "--b--\r\n", wire.Request{Model: "m"}, ""},
		{"a file before and behind", file + part("model", "m") + file + "--b--", wire.Request{Model: "m"}, ""},
		{"a stream", part("model", "m") + part("stream", "true") + "--b--", wire.Request{Model: "m", Stream: true}, ""},
		{"no stream", part("model", "m") + part("stream", "false") + "--b--", wire.Request{Model: "m"}, ""},
		{"Python's word", part("model", "m") + part("stream", "True") + "--b--", wire.Request{Model: "m", Stream: true}, ""},
		{"text", part("response_format", "srt") + part("model", "m") + "--b--", wire.Request{Model: "m", Raw: true}, ""},
		{"a stream is events whatever its format", part("response_format", "text") + part("model", "m") + part("stream", "true") + "--b--", wire.Request{Model: "m", Stream: true}, ""},
		{"verbose", part("response_format", "verbose_json") + part("model", "m") + "--b--", wire.Request{Model: "m"}, ""},
		{"blank lines around it", "\r\n" + part("model", "m") + "--b-- \r\n\r\n", wire.Request{Model: "m"}, ""},
		{"words before the first part", "hello\r\n" + part("model", "m") + "--b--", wire.Request{}, "before its first part"},
		{"words behind the last part", part("model", "m") + "--b--\r\n" + part("model", "n") + "--b--", wire.Request{}, "goes on behind"},
		{"an end that is none", part("prompt", "m") + "--b--x\r\n" + part("model", "n") + "--b--", wire.Request{Model: "n"}, ""},
		{"bare line ends", strings.ReplaceAll(part("model", "m")+"--b--\r\n", "\r", ""), wire.Request{Model: "m"}, ""},
		{"blanks behind the boundary", "--b \t\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n--b--", wire.Request{Model: "m"}, ""},
		{"the last one counts", part("model", "m") + part("model", "n") + "--b--", wire.Request{Model: "n"}, ""},
		{"none", part("prompt", "m") + "--b--", wire.Request{}, `"model" is missing: name`},
		{"no model, in other letters", part("Model", "m") + "--b--", wire.Request{}, `"Model" is not known`},
		{"another one in other letters", part("model", "m") + part("MODEL", "n") + "--b--", wire.Request{}, `"MODEL" is not known`},
		{"empty", part("model", "") + "--b--", wire.Request{}, `"model" is empty`},
		{"nothing", "", wire.Request{}, "breaks off"},
		{"another boundary", "--c\r\n\r\n--c--", wire.Request{}, "breaks off"},
		{"no end", part("model", "m"), wire.Request{}, "breaks off"},
		{"two lines", part("model", "m\nx") + "--b--", wire.Request{}, "one line"},
		{"encoded", "--b\r\nContent-Disposition: form-data; name=model\r\nContent-Transfer-Encoding: base64\r\n\r\nbQ==\r\n--b--", wire.Request{}, "one line"},
		{"in a file", "--b\r\nContent-Disposition: form-data; name=model; filename=\"\"\r\n\r\nm\r\n--b--", wire.Request{}, "one line"},
		{"a name in two forms", "--b\r\nContent-Disposition: form-data; name=x; name*=utf-8''model\r\n\r\nm\r\n--b--", wire.Request{}, "malformed"},
		{"a name in pieces", "--b\r\nContent-Disposition: form-data; name=x; name*0=mod; name*1=el\r\n\r\nn\r\n" + part("model", "m") + "--b--", wire.Request{}, "malformed"},
		{"a file's name in pieces", "--b\r\nContent-Disposition: form-data; name=model; filename*0=x\r\n\r\nm\r\n--b--", wire.Request{}, "malformed"},
		{"an escape in a name", "--b\r\nContent-Disposition: form-data; name=\"\\model\"\r\n\r\nn\r\n" + part("model", "m") + "--b--", wire.Request{}, "malformed"},
		{"quotes before the parameters", "--b\r\nContent-Disposition: form-data \"; name=x; \"; name=model\r\n\r\nn\r\n" + part("model", "m") + "--b--", wire.Request{}, "malformed"},
		{"quotes within a value", "--b\r\nContent-Disposition: form-data; a=b\"; name=x; c=\"; name*=model\r\n\r\nn\r\n" + part("model", "m") + "--b--", wire.Request{}, "malformed"},
		{"half line ends", part("model", "m") + part("prompt", "x\r--b\rContent-Disposition: form-data; name=model\r\rn") + "--b--", wire.Request{}, "half a line's end"},
		{"half a line's end among the headers", "--b\r\nX: y\rContent-Disposition: form-data; name=model\r\n\r\nn\r\n" + part("model", "m") + "--b--", wire.Request{}, "malformed"},
		{"two names", "--b\r\nContent-Disposition: form-data; name=x; name=model\r\n\r\nm\r\n--b--", wire.Request{}, "malformed"},
		{"two dispositions", "--b\r\nContent-Disposition: form-data; name=x\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n--b--", wire.Request{}, "malformed"},
		{"a folded line", "--b\r\nContent-Disposition: form-data;\r\n name=model\r\n\r\nm\r\n--b--", wire.Request{}, "malformed"},
		{"no headers", "--b\r\n\r\nm\r\n--b--", wire.Request{}, "malformed"},
		{"headers without an end", "--b\r\nContent-Disposition: form-data; name=model", wire.Request{}, "malformed"},
	} {
		got, err := transcriptions().ReadForm([]byte(tt.body), formType)
		var re *wire.RequestError
		switch {
		case tt.says != "":
			if !errors.As(err, &re) || !strings.Contains(re.Message, tt.says) {
				t.Errorf("%s: %v", tt.name, err)
			}
		case err != nil, got.Model != tt.want.Model, got.Stream != tt.want.Stream, got.Raw != tt.want.Raw, got.ContentType != formType:
			t.Errorf("%s: %v, %+v", tt.name, err, got)
		}
	}
	for _, kind := range []string{
		"multipart/form-data", "multipart/form-data; boundary", "multipart/form-data; boundary=", "multipart/form-data; boundary=a; boundary=b", `multipart/form-data; boundary="a`,
		"multipart/form-data; boundary=b; boundary*0=c", `multipart/form-data; boundary="a\/b"`, `multipart/form-data; boundary=b"c;x=d"`, `multipart/form-data; boundary="b "`,
	} {
		if _, err := transcriptions().ReadForm([]byte(part("model", "m")+"--b--"), kind); err == nil || !strings.Contains(err.Error(), "boundary") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestFormIsRewritten(t *testing.T) {
	body := part("language", "de") + part("model", "m") + part("prompt", "model") + "--b--\r\n"
	twice := part("model", "m") + part("model", "m") + "--b--"
	param := func(name, value string) wire.Param { return wire.Param{Name: name, Value: []byte(value)} }
	for _, tt := range []struct {
		name, body string
		w          wire.Rewrite
		want       string
	}{
		{"as it is", body, wire.Rewrite{Model: "m"}, body},
		{"another model", body, wire.Rewrite{Model: "other"}, strings.Replace(body, "\r\n\r\nm\r\n", "\r\n\r\nother\r\n", 1)},
		{"at each place", twice, wire.Rewrite{Model: "m2"}, part("model", "m2") + part("model", "m2") + "--b--"},
		{
			"parameters", body,
			wire.Rewrite{Model: "m", Params: []wire.Param{param("language", `"fr"`), param("temperature", "0.5"), param("model", `"no"`)}},
			part("model", "m") + part("prompt", "model") + part("language", "fr") + part("temperature", "0.5") + "--b--\r\n",
		},
	} {
		q, err := transcriptions().ReadForm([]byte(tt.body), formType)
		if err != nil {
			t.Fatal(err)
		}
		if got := transcriptions().AppendRequest(nil, &q, tt.w); string(got) != tt.want {
			t.Errorf("%s:\n%q\n%q", tt.name, got, tt.want)
		}
	}
}

// Whatever a form holds: a server reads the same parts after the rewriting as before, but for the model.
func TestFormMeansTheSame(t *testing.T) {
	type one struct{ name, file, value string }
	read := func(t *rapid.T, kind string, body []byte) (out []one) {
		_, params, err := mime.ParseMediaType(kind)
		if err != nil {
			t.Fatal(err)
		}
		for r := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
			p, err := r.NextRawPart()
			if errors.Is(err, io.EOF) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, one{p.FormName(), p.FileName(), string(b)})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		if err := w.SetBoundary(rapid.StringMatching(`[a-z]{1,4}`).Draw(t, "boundary")); err != nil {
			t.Fatal(err)
		}
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\r\n\-ab]{0,12}`))
		before := rapid.IntRange(0, 3).Draw(t, "before")
		for i := range before + 1 + rapid.IntRange(0, 3).Draw(t, "after") {
			v := value.Draw(t, "value")
			if strings.Contains("\n"+v, "\n--"+w.Boundary()) || strings.Contains(v, "\r--"+w.Boundary()) { // no form can say it
				v = "x"
			}
			var err error
			switch {
			case i == before:
				err = w.WriteField("model", "m")
			case rapid.Bool().Draw(t, "file"):
				var f io.Writer
				f, err = w.CreateFormFile("file", rapid.StringMatching(`[ -~]{1,9}`).Draw(t, "name"))
				_, _ = io.WriteString(f, v)
			default:
				err = w.WriteField(rapid.StringMatching(`[a-l]{1,5}`).Draw(t, "field"), v)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if w.Close() != nil {
			t.Fatal("close")
		}
		kind := w.FormDataContentType()
		q, err := transcriptions().ReadForm(b.Bytes(), kind)
		if err != nil || q.Model != "m" {
			t.Fatalf("%v, %q in %q", err, q.Model, b.Bytes())
		}
		want := read(t, kind, b.Bytes())
		for i := range want {
			if want[i].name == "model" {
				want[i].value = "another"
			}
		}
		got := read(t, kind, transcriptions().AppendRequest(nil, &q, wire.Rewrite{Model: "another"}))
		if len(got) != len(want) {
			t.Fatalf("%d parts, not %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%+v, not %+v", got[i], want[i])
			}
		}
	})
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(part("model", "m")+"--b--\r\n"), formType)
	f.Add([]byte(part("x", "--b\n\nContent-Disposition: form-data; name=model\n\nn\n")+part("model", "m")+"--b--\r\n--b\r\n"), formType)
	f.Add([]byte("--b \r\nContent-Disposition : form-data; Name=\"mod\\el\"\r\n\r\nn\r\n--b\r\n"+part("model", "m")+"--b--"), `multipart/form-data; x=";boundary=c"; boundary=b`)
	f.Add([]byte(strings.ReplaceAll(part("model", "m")+part("file", "x")+"--b--", "name=", "filename=a; name=")), formType)
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		q, err := transcriptions().ReadForm(body, kind)
		if err != nil {
			return
		}
		out := transcriptions().AppendRequest(nil, &q, wire.Rewrite{Model: "another"})
		again, err := transcriptions().ReadForm(out, kind)
		if err != nil || again.Model != "another" {
			t.Errorf("%v, %q: %q became %q", err, again.Model, body, out)
		}
		// Another reader may see other parts, but never another model: a key may be limited to some.
		_, params, err := mime.ParseMediaType(kind)
		if err != nil {
			return
		}
		for r := multipart.NewReader(bytes.NewReader(out), params["boundary"]); ; {
			p, err := r.NextRawPart()
			if err != nil {
				return
			}
			if b, err := io.ReadAll(p); err == nil && p.FormName() == "model" && string(b) != "another" {
				t.Errorf("%q is read as the model %q", out, b)
			}
		}
	})
}

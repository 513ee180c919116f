package e2e

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// goAsides has most of what asides.py and asides.ts check, in openai-go.
func goAsides(t *testing.T, url, model string) {
	client := goClient(url)
	sound := bytes.Repeat(everyByte(), 4096)
	recording := func() io.Reader {
		return openai.File(strings.NewReader("RIFF\r\n--\x00\xff"+string(sound)), "odd name.wav", "audio/wav")
	}
	checks := map[string]func(*testing.T){
		"images": func(t *testing.T) {
			var resp *http.Response
			reply, err := client.Images.Generate(t.Context(), openai.ImageGenerateParams{Model: model, Prompt: "a pixel"}, option.WithResponseInto(&resp))
			if err != nil || len(reply.Data) != 1 || reply.Data[0].B64JSON != pixel || resp.Header.Get("X-Evergate-Trail") != "down/m=503, up/m=200" {
				t.Errorf("%+v, %v", reply, err)
			}
		},
		"images_stream": func(t *testing.T) {
			s := client.Images.GenerateStreaming(t.Context(), openai.ImageGenerateParams{Model: model, Prompt: "a pixel", PartialImages: openai.Int(1)})
			var seen []string
			for s.Next() {
				seen = append(seen, s.Current().Type)
			}
			if got := strings.Join(seen, " "); s.Err() != nil || got != "image_generation.partial_image image_generation.completed" {
				t.Errorf("%s, %v", got, s.Err())
			}
		},
		"image_edits": func(t *testing.T) {
			raw, err := base64.StdEncoding.DecodeString(pixel)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := client.Images.Edit(t.Context(), openai.ImageEditParams{
				Model: model, Prompt: "a red pixel",
				Image: openai.ImageEditParamsImageUnion{OfFile: openai.File(bytes.NewReader(raw), "pixel.png", "image/png")},
			})
			if err != nil || len(reply.Data) != 1 || reply.Data[0].B64JSON != pixel {
				t.Errorf("%+v, %v", reply, err)
			}
		},
		"speech":     func(t *testing.T) { goSpeech(t, &client, model, sound) },
		"speech_cut": func(t *testing.T) { goSpeechCut(t, &client, model) },
		"transcriptions": func(t *testing.T) {
			reply, err := client.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{Model: model, File: recording(), Language: openai.String("de")})
			if want := fmt.Sprintf("m de odd name.wav %d", len(sound)+10); err != nil || reply.Text != want {
				t.Errorf("%+v, %v, want %s", reply, err, want)
			}
		},
		"moderations": func(t *testing.T) {
			reply, err := client.Moderations.New(t.Context(), openai.ModerationNewParams{
				Model: model, Input: openai.ModerationNewParamsInputUnion{OfString: openai.String("hello")},
			})
			if err != nil || len(reply.Results) != 1 || reply.Results[0].Flagged {
				t.Errorf("%+v, %v", reply, err)
			}
		},
		"missing": func(t *testing.T) {
			_, err := client.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{Model: "none/m", File: recording()})
			var refused *openai.Error
			if !errors.As(err, &refused) || refused.StatusCode != http.StatusNotFound || !strings.Contains(refused.Message, "/audio/transcriptions") {
				t.Errorf("%v", err)
			}
		},
		"files_and_batches": func(t *testing.T) { goFiles(t, url, sound) },
	}
	for name, check := range checks {
		t.Run(name, check)
	}
}

// everyByte is each byte once.
func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

func goSpeech(t *testing.T, client *openai.Client, model string, sound []byte) {
	t.Helper()
	resp, err := client.Audio.Speech.New(t.Context(), speechOf(model))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, sound) || resp.Header.Get("Content-Type") != "audio/mpeg" {
		t.Errorf("%d bytes of %s, %v", len(got), resp.Header.Get("Content-Type"), err)
	}
}

// goSpeechCut checks that sound that breaks off is an error, never a short file.
func goSpeechCut(t *testing.T, client *openai.Client, model string) {
	t.Helper()
	ask := speechOf(model)
	ask.Instructions = openai.String("break off")
	resp, err := client.Audio.Speech.New(t.Context(), ask)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if got, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%d bytes and no error", len(got))
	}
}

func speechOf(model string) openai.AudioSpeechNewParams {
	return openai.AudioSpeechNewParams{
		Model: model, Input: "Hello",
		Voice: openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String("alloy")},
	}
}

// goFiles keeps a file at the provider that the client names, and has a batch made of it.
func goFiles(t *testing.T, url string, content []byte) {
	ctx, client := t.Context(), goClient(url)
	var refused *openai.Error
	if _, err := client.Files.List(ctx, openai.FileListParams{}); !errors.As(err, &refused) || !strings.Contains(refused.Message, "x-evergate-provider") {
		t.Errorf("of no provider: %v", err)
	}
	up := openai.NewClient(append(client.Options, option.WithHeader("x-evergate-provider", "up"))...)
	kept, err := up.Files.New(ctx, openai.FileNewParams{File: openai.File(bytes.NewReader(content), "in.jsonl", "application/jsonl"), Purpose: openai.FilePurposeBatch})
	if err != nil || kept.Bytes != int64(len(content)) {
		t.Fatalf("upload: %+v, %v", kept, err)
	}
	if list, err := up.Files.List(ctx, openai.FileListParams{Purpose: openai.String("batch")}); err != nil || len(list.Data) != 1 || list.Data[0].ID != kept.ID {
		t.Errorf("list: %+v, %v", list, err)
	}
	if one, err := up.Files.Get(ctx, kept.ID); err != nil || one.Filename != "in.jsonl" {
		t.Errorf("retrieve: %+v, %v", one, err)
	}
	resp, err := up.Files.Content(ctx, kept.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, content) {
		t.Errorf("content: %d bytes, %v", len(got), err)
	}
	made, err := up.Batches.New(ctx, openai.BatchNewParams{
		InputFileID: kept.ID, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	})
	if err != nil || made.InputFileID != kept.ID {
		t.Fatalf("batch: %+v, %v", made, err)
	}
	if b, err := up.Batches.Get(ctx, made.ID); err != nil || b.Status != openai.BatchStatusValidating {
		t.Errorf("retrieve: %+v, %v", b, err)
	}
	if b, err := up.Batches.Cancel(ctx, made.ID); err != nil || b.Status != openai.BatchStatusCancelling {
		t.Errorf("cancel: %+v, %v", b, err)
	}
	if list, err := up.Batches.List(ctx, openai.BatchListParams{Limit: openai.Int(3)}); err != nil || len(list.Data) != 1 || list.Data[0].ID != made.ID {
		t.Errorf("list: %+v, %v", list, err)
	}
	if gone, err := up.Files.Delete(ctx, kept.ID); err != nil || !gone.Deleted {
		t.Errorf("delete: %+v, %v", gone, err)
	}
}

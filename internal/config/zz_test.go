package config
import "testing"
func BenchmarkParse(b *testing.B){ for b.Loop(){ if _,err:=Parse("x",[]byte(allKeys),lookup(map[string]string{"TOKEN": "tok", "CI_KEY": "k-1"})); err!=nil {b.Fatal(err)} } }
func BenchmarkDetect(b *testing.B){ for b.Loop(){ Detect(lookup(map[string]string{"OPENAI_API_KEY": "tok", "CI_KEY": "k-1"})) } }

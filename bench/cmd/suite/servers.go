package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pin gives the servers under measurement the first core and all the rest to the mock and the load, where that can be.
func (s *settings) pin() {
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		fmt.Fprintln(os.Stderr, "not pinned to cores: there is no taskset, or one core only")
		return
	}
	s.pinServers, s.pinLoad = "0", "1-"+strconv.Itoa(runtime.NumCPU()-1)
}

// pinned puts taskset before a command.
func pinned(cores string, argv []string) []string {
	if cores == "" {
		return argv
	}
	return append([]string{"taskset", "-c", cores}, argv...)
}

// servers are the processes of one measurement.
type servers struct {
	s     *settings
	procs []*exec.Cmd
	log   *os.File
}

func newServers(s *settings) (*servers, error) {
	log, err := os.CreateTemp("", "bench-log-")
	if err != nil {
		return nil, err
	}
	return &servers{s: s, log: log}, nil
}

// start runs a server with its output in a file, as a service would, and waits until it listens.
func (v *servers) start(cores, addr string, argv ...string) (pid int, err error) {
	argv = pinned(cores, argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = v.log, v.log
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	v.procs = append(v.procs, cmd)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return cmd.Process.Pid, c.Close()
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%s does not listen: %w\n%s", argv[len(argv)-1], err, v.lastWords())
		}
	}
}

func (v *servers) lastWords() string {
	b, err := os.ReadFile(v.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}

// stop ends all servers and forgets what they printed.
func (v *servers) stop() {
	for _, cmd := range v.procs {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, cmd := range v.procs {
		gone := time.AfterFunc(3*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		gone.Stop()
	}
	_ = v.log.Close()
	_ = os.Remove(v.log.Name())
}

const (
	mockAddr    = "127.0.0.1:9100"
	bareAddr    = "127.0.0.1:9200"
	handlerAddr = "127.0.0.1:9201"
	gateAddr    = "127.0.0.1:9210"
	quietAddr   = "127.0.0.1:9211"
)

func (v *servers) mock(knobs string) error {
	_, err := v.start(v.s.pinLoad, mockAddr, filepath.Join(v.s.bin, "mockllm"), "-listen", mockAddr, "-knobs", knobs)
	return err
}

func (v *servers) proxy(mode, addr string) (int, error) {
	return v.start(v.s.pinServers, addr, filepath.Join(v.s.bin, "refproxy"), "-mode", mode, "-listen", addr)
}

func (v *servers) gateway(addr string, flags ...string) (int, error) {
	return v.start(v.s.pinServers, addr, append(v.s.serveCommand(addr), flags...)...)
}

func (s *settings) serveCommand(addr string) []string {
	return []string{s.evergate, "serve", "-c", filepath.Join(s.configs, "evergate.yaml"), "--listen", addr}
}

// gwbench runs the measurer and decodes its JSON into out.
func (s *settings) gwbench(ctx context.Context, out any, args ...string) error {
	argv := pinned(s.pinLoad, append([]string{filepath.Join(s.bin, "gwbench")}, args...))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		return errors.Join(err, errors.New(stderr.String()))
	}
	return json.Unmarshal(b, out)
}

package traces

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// sampler decides which requests are traced.
type sampler struct {
	// obeys: a client's own decision counts where it brings one.
	obeys bool
	// bound is how many of 2^63 trace ids are taken.
	bound uint64
}

const allTraces = uint64(1) << 63

// samplerNamed reads OTEL_TRACES_SAMPLER and its argument; an empty name is the default.
func samplerNamed(name, arg string) (sampler, error) {
	s := sampler{bound: allTraces}
	switch name {
	case "", "parentbased_always_on":
		s.obeys = true
	case "always_on":
	case "always_off":
		s.bound = 0
	case "parentbased_always_off":
		s.obeys, s.bound = true, 0
	case "traceidratio", "parentbased_traceidratio":
		s.obeys = name != "traceidratio"
		ratio := 1.0
		if arg != "" {
			var err error
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return s, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q is no share; write a number from 0 to 1", arg)
			}
		}
		s.bound = uint64(ratio * float64(allTraces))
	default:
		return s, fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not known; use always_on, always_off, traceidratio, parentbased_always_on, "+
			"parentbased_always_off or parentbased_traceidratio", name)
	}
	return s, nil
}

// samples says whether a request is traced. The share is taken by the trace's id, so that all services which sample by it
// choose the same traces.
func (s sampler) samples(client remote, known bool, trace [16]byte) bool {
	if s.obeys && known {
		return client.sampled
	}
	return binary.BigEndian.Uint64(trace[8:])>>1 < s.bound
}

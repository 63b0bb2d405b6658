package metrics

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
)

// readProcess reads what the system and the runtime know of this process. What
// a system does not tell is 0.
func (m *Meters) readProcess() {
	m.gauge(float64(runtime.NumGoroutine()), MetricGoroutines)
	m.gauge(float64(heapBytes()), MetricHeap)
	m.gauge(processorSeconds(), MetricProcessCPU)
	m.gauge(float64(residentBytes()), MetricProcessRSS)
	m.gauge(float64(openFiles()), MetricProcessFiles)
	m.gauge(float64(m.Config.Started.UnixMilli())/1000, MetricProcessStart)
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

func processorSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(used.Utime) + seconds(used.Stime)
}

// residentBytes reads the second number of proc_pid_statm(5), in pages.
func residentBytes() int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}

func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// buildLabels are those of metricBuildInfo.
func (m *Meters) buildLabels() []string {
	return []string{"version", m.Config.Version, "commit", m.Config.Commit, "goversion", runtime.Version()}
}

// Package nvml reads NVIDIA GPUs through libnvidia-ml, which is loaded at run time and may be absent. It runs only
// inside an isolated child: the library can hang in a call, abort, return garbage, or miss a function that a newer
// driver has, and a call to a missing function ends the process.
//
// It promises that a value it returns is plausible and was really read; what could not be read is absent and has a
// reason. It looks every function up before it is called, and never allocates by a size the library names. It refuses
// to change anything on the GPU, and never asks for fans: that call alone held the driver's lock for milliseconds in
// the field (MangoHud issue 2104).
package nvml

import (
	"context"
	"fmt"
	"time"
)

// Task is the name of the child's task.
const Task = "gpu"

// The operations of a Request.
const (
	OpOpen    = "open"     // load the library and list the GPUs: an Inventory
	OpOpenGPU = "open-gpu" // open one GPU, which then is in each reading: an Opened
	OpSample  = "sample"   // read all GPUs that are open: a Reading
	OpClose   = "close"    // shut the library down in order
)

// Request asks for one thing. Slow and Processes are for every second and every fifth second: they cost more, and a
// process list holds the driver's lock for 4.5 ms (MangoHud issue 2104).
type Request struct {
	Op    string `json:"op"`
	Place string `json:"place,omitempty"` // of the GPU to open, as the Inventory names it
	// also limits, PCIe link, PCIe throughput where it takes a 20 ms call
	Slow      bool `json:"slow,omitempty"`
	Processes bool `json:"processes,omitempty"` // also the processes that compute on each GPU
}

// Inventory is what was found. Where Unavailable is not nil there is nothing to open. No GPU is open yet: to take hold
// of one makes the driver start it, 0.5 to 2 s each where no persistence daemon keeps it started.
type Inventory struct {
	Unavailable *Unavailable `json:"unavailable,omitempty"`
	Driver      string       `json:"driver,omitempty"` // version, sanitized; "" when it could not be read
	Devices     []Device     `json:"devices,omitempty"`
}

// Opened is what opening one GPU brought: the GPU, or its MIG slices. Where Failed is not empty it says why nothing was
// opened.
type Opened struct {
	Devices []Device `json:"devices,omitempty"`
	Failed  string   `json:"failed,omitempty"`
}

// Unavailable says why no GPU can be read and what would change that.
type Unavailable struct {
	Reason string `json:"reason"`
	Cure   string `json:"cure,omitempty"`
}

// Device is one GPU, or one slice of a GPU that MIG has cut up. Its UUID identifies it; its index means nothing, other
// programs order GPUs differently. Of a GPU that is not open only the UUID, the name, the place, PCI, the minor number
// and MIG may be known.
type Device struct {
	UUID        string `json:"uuid"`                   // "" where it is not known before the GPU is open
	Place       string `json:"place,omitempty"`        // what OpOpenGPU asks for
	Minor       *int   `json:"minor,omitempty"`        // N of its /dev/nvidiaN; nil where it is not known
	Parent      string `json:"parent,omitempty"`       // UUID of the GPU that this is a slice of; "" for a whole one
	Name        string `json:"name"`                   // sanitized
	MemoryBytes int64  `json:"memory_bytes,omitempty"` // 0 when it could not be read
	MIG         *bool  `json:"mig,omitempty"`          // nil when the GPU has no such mode
	GPM         bool   `json:"gpm"`                    // SM and DRAM activity can be read
	Lost        bool   `json:"lost,omitempty"`
	// PCI is the GPU's place as domain, bus and device in hexadecimal of fixed width, so that text order is PCI order;
	// "" when it could not be read.
	PCI string `json:"pci,omitempty"`
}

// Session is the child's state between requests. The zero value is not ready: use New.
type Session struct {
	now     func() time.Time
	places  []string // where the library may be
	proc    string   // what the kernel's module reports its GPUs: a folder each
	library *library
	devices []*device
}

// New returns a session that has loaded nothing yet. now is the clock for rates, of which only differences count.
func New(now func() time.Time) *Session {
	return &Session{now: now, places: places, proc: driverFolder}
}

// Handle does one Request.
func (s *Session) Handle(_ context.Context, asked Request) (any, error) {
	switch asked.Op {
	case OpOpen:
		return s.open(), nil
	case OpOpenGPU:
		if s.library == nil {
			return nil, fmt.Errorf("opening a gpu: the library is not loaded")
		}
		return s.openGPU(asked.Place), nil
	case OpSample:
		if s.library == nil {
			return nil, fmt.Errorf("sampling gpus: none is open")
		}
		return s.sample(asked), nil
	case OpClose:
		s.Close()
		return struct{}{}, nil
	}
	return nil, fmt.Errorf("no gpu operation %q", asked.Op)
}

// Close shuts the library down. It may be called often, and without an open before.
func (s *Session) Close() {
	if s.library == nil {
		return
	}
	for _, d := range s.devices {
		d.gpm.free()
	}
	s.library.nvml.Shutdown()
	s.library, s.devices = nil, nil
}

func (s *Session) sample(asked Request) Reading {
	reading := Reading{Devices: make([]DeviceReading, 0, len(s.devices))}
	for _, d := range s.devices {
		reading.Devices = append(reading.Devices, d.read(asked, s.now()))
	}
	return reading
}

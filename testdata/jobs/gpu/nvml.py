"""What the first checks ask of libnvidia-ml, by ctypes: layouts of nvml.h."""

import ctypes
import time

UINT, ULL, VOID = ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_void_p
PCIE_TX, PCIE_RX = 197, 198  # bytes since the driver was loaded
UTILIZATION = 1  # of nvmlSamplingType_t
TYPES = (
    "double", "unsigned int", "unsigned long", "unsigned long long", "signed long long", "signed int", "unsigned short",
)
FORMS = dict(zip(TYPES, ("d", "I", "L", "Q", "q", "i", "H")))
SM_UTIL = 2  # of nvmlGpmMetricId_t
MOST = 4096


class Value(ctypes.Union):
    _fields_ = [("d", ctypes.c_double), ("I", UINT), ("L", ctypes.c_ulong), ("Q", ULL), ("q", ctypes.c_longlong),
                ("i", ctypes.c_int), ("H", ctypes.c_ushort)]

    def of(self, kind):
        return getattr(self, FORMS[TYPES[kind]]) if kind < len(TYPES) else None


class Field(ctypes.Structure):
    _fields_ = [("id", UINT), ("scope", UINT), ("timestamp", ctypes.c_longlong), ("latency", ctypes.c_longlong),
                ("kind", UINT), ("result", UINT), ("value", Value)]


class Sample(ctypes.Structure):
    _fields_ = [("at", ULL), ("value", Value)]


class Support(ctypes.Structure):
    _fields_ = [("version", UINT), ("supported", UINT)]


class Metric(ctypes.Structure):
    _fields_ = [("id", UINT), ("result", UINT), ("value", ctypes.c_double), ("names", ctypes.c_char_p * 3)]


class Metrics(ctypes.Structure):
    _fields_ = [("version", UINT), ("count", UINT), ("before", VOID), ("after", VOID), ("metrics", Metric * 512)]


class Refused(Exception):
    """The driver's answer to a call: its name and an nvmlReturn_t."""


class GPU:
    """One GPU, opened; times holds what opening took, in seconds."""

    def __init__(self, index=0):
        self.times = {}
        self.lib = self.timed("load", ctypes.CDLL, "libnvidia-ml.so.1")
        self.timed("nvmlInit_v2", self.call, "nvmlInit_v2")
        self.handle = VOID()
        self.timed("handle", self.call, "nvmlDeviceGetHandleByIndex_v2", UINT(index), ctypes.byref(self.handle))

    def timed(self, name, function, *arguments):
        begun = time.monotonic()
        result = function(*arguments)
        self.times[name] = time.monotonic() - begun
        return result

    def call(self, name, *arguments):
        """Raises Refused where the driver's answer is not 0."""
        code = getattr(self.lib, name)(*arguments)
        if code:
            raise Refused(name, code)

    def close(self):
        self.timed("nvmlShutdown", self.call, "nvmlShutdown")

    def text(self, name, *before):
        room = ctypes.create_string_buffer(96)
        self.call(name, *before, room, UINT(96))
        return room.value.decode()

    def fields(self, *ids):
        """For each field: what the driver answers, its kind, its timestamp in µs and its value."""
        asked = (Field * len(ids))(*[Field(id=i) for i in ids])
        self.call("nvmlDeviceGetFieldValues", self.handle, ctypes.c_int(len(ids)), asked)
        return [{"id": f.id, "result": f.result, "kind": f.kind, "at_us": f.timestamp, "value": f.value.of(f.kind)}
                for f in asked]

    def samples(self, since):
        """The kind of the values, and (µs, value) of each sample after since."""
        kind, count, room = UINT(), UINT(MOST), (Sample * MOST)()
        self.call("nvmlDeviceGetSamples", self.handle, ctypes.c_int(UTILIZATION), ULL(since),
                  ctypes.byref(kind), ctypes.byref(count), room)
        return kind.value, [(s.at, s.value.of(kind.value)) for s in room[:count.value] if s.at > since]

    def activity(self, seconds):
        """The SMs' use over some seconds, by GPU performance monitoring."""
        support = Support(version=1)
        self.call("nvmlGpmQueryDeviceSupport", self.handle, ctypes.byref(support))
        if not support.supported:
            return None
        asked = Metrics(version=1, count=1)
        asked.metrics[0].id = SM_UTIL
        buffers = [VOID(), VOID()]
        for i, buffer in enumerate(buffers):
            self.call("nvmlGpmSampleAlloc", ctypes.byref(buffer))
            if i:
                time.sleep(seconds)
            self.call("nvmlGpmSampleGet", self.handle, buffer)
        asked.before, asked.after = buffers
        self.call("nvmlGpmMetricsGet", ctypes.byref(asked))
        for buffer in buffers:
            self.call("nvmlGpmSampleFree", buffer)
        if asked.metrics[0].result:
            raise Refused("the metric of nvmlGpmMetricsGet", asked.metrics[0].result)
        return asked.metrics[0].value

# ===- driver.py - A GPU by the CUDA driver alone ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The first GPU of a machine by `libcuda.so.1`, which every driver brings: memory, kernels, graphs of launches, and times.

Declarations are those of the CUDA Driver API 12.3. Nothing but Python's own library is imported. PyTorch and compiled
programs have the same context, so that memory and streams of one are those of the others."""

import ctypes
from dataclasses import dataclass, field
from statistics import median

MAJOR, MINOR, MULTIPROCESSORS, SHARED_BYTES = 75, 76, 16, 97  # CUdevice_attribute
DYNAMIC_SHARED, CARVEOUT = 8, 9  # CUfunction_attribute
ERROR_LOG, ERROR_LOG_BYTES = 5, 6  # CUjit_option
ERROR_BYTES = 4096


class DriverError(Exception):
    """A call that the driver refused, and its words."""


def handle(stream):
    """A stream as the driver takes it: frameworks give it as a number."""
    return ctypes.c_void_p(stream) if isinstance(stream, int) else stream


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS, of which the second and third version are alike."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    ]


class Edge(ctypes.Structure):
    """CUgraphEdgeData."""

    _fields_ = [("from_port", ctypes.c_ubyte), ("to_port", ctypes.c_ubyte), ("type", ctypes.c_ubyte), ("reserved", ctypes.c_ubyte * 5)]


PROGRAMMATIC = Edge(1, 0, 1)
LATER = "cuGraphAddDependencies_v2"  # since CUDA 12.3; programs of hova make their edges with it too


@dataclass
class Launch:
    """A kernel, its grid, and the addresses of its buffers. `kept` are the values that `parameters` points to."""

    function: ctypes.c_void_p
    grid: tuple[int, ...]
    threads: int
    shared: int
    addresses: list[int]
    kept: list = field(default_factory=list)

    def __post_init__(self):
        values = [ctypes.c_uint64(address) for address in self.addresses]
        self.parameters = (ctypes.c_void_p * (len(values) + 1))(*(ctypes.addressof(value) for value in values))
        self.kept = [values, self.parameters]
        self.grid = (*self.grid, 1, 1)[:3]

    def node(self):
        return KernelNode(self.function, (ctypes.c_uint * 3)(*self.grid), (ctypes.c_uint * 3)(self.threads, 1, 1), self.shared,
                          ctypes.cast(self.parameters, ctypes.c_void_p))


class Device:
    """The first GPU, whose primary context is current in this thread from then on. Errors are a `DriverError`."""

    def __init__(self, unmeasured=3):
        """The first `unmeasured` of the samples of a graph do not count."""
        self.unmeasured = unmeasured
        self.library = ctypes.CDLL("libcuda.so.1")
        number, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(number), 0)
        self.number = number.value
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self.call("cuCtxPushCurrent_v2", context)
        self.stream = self.make("cuStreamCreate", 0)
        self.images = {}  # of modules, while they are loaded

    def has(self, name):
        """Whether the driver has a call of this name, which older ones have not."""
        return hasattr(self.library, name)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            said = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(said))
            raise DriverError(f"{name}: {(said.value or b'?').decode()} ({status})")

    def make(self, name, *arguments):
        """The handle that a call writes through its first argument."""
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def attribute(self, which):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), which, self.number)
        return value.value

    def capability(self):
        """90 for 9.0."""
        return 10 * self.attribute(MAJOR) + self.attribute(MINOR)

    def describe(self):
        """What a figure was measured on, as far as the driver says it."""
        name, version = ctypes.create_string_buffer(256), ctypes.c_int()
        self.call("cuDeviceGetName", name, len(name), self.number)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return {"gpu": name.value.decode(), "capability": self.capability(), "cuda": version.value, "shared_bytes": self.attribute(SHARED_BYTES)}

    # Memory ---------------------------------------------------------------------

    def allocate(self, size):
        """The address of `size` bytes, of 16 at least."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 16)))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def upload(self, address, data):
        """Copies bytes to the device, and waits."""
        held = (ctypes.c_char * len(data)).from_buffer_copy(data)
        self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), held, ctypes.c_size_t(len(data)), self.stream)
        self.synchronize()

    def download(self, address, size):
        held = (ctypes.c_char * size)()
        self.call("cuMemcpyDtoHAsync_v2", held, ctypes.c_uint64(address), ctypes.c_size_t(size), self.stream)
        self.synchronize()
        return bytes(held)

    def buffer(self, data):
        """The address of a copy of these bytes on the device."""
        address = self.allocate(len(data))
        self.upload(address, data)
        return address

    # Kernels --------------------------------------------------------------------

    def load(self, ptx, cubin=None):
        """A module: the machine code where the device runs it, else the text."""
        if cubin:
            try:
                return self.keep(self.make("cuModuleLoadDataEx", cubin, 0, None, None), cubin)
            except DriverError:
                pass
        log = ctypes.create_string_buffer(ERROR_BYTES)
        options = (ctypes.c_uint * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), ERROR_BYTES)
        try:
            return self.keep(self.make("cuModuleLoadDataEx", ptx, 2, options, values), ptx)
        except DriverError as error:
            raise DriverError(f"{error} {' '.join(log.value.decode(errors='replace').split())}") from None

    def keep(self, module, image):
        self.images[module.value] = image
        return module

    def unload(self, module):
        self.call("cuModuleUnload", module)
        del self.images[module.value]

    def function(self, module, name, shared=0, carveout=100):
        """A kernel whose blocks may have so much shared memory, of multiprocessors with this share of it, in percent."""
        found = self.make("cuModuleGetFunction", module, name.encode())
        self.call("cuFuncSetAttribute", found, DYNAMIC_SHARED, shared)
        self.call("cuFuncSetAttribute", found, CARVEOUT, carveout)
        return found

    def launch(self, made):
        self.call("cuLaunchKernel", made.function, *made.grid, made.threads, 1, 1, made.shared, self.stream, made.parameters, None)

    def synchronize(self, stream=None):
        """Waits for a stream, by its handle or its number; without one for that of this device."""
        self.call("cuStreamSynchronize", handle(stream or self.stream))

    # Graphs and times -----------------------------------------------------------

    def graph(self, launches, edge=None):
        """A chain of launches as one; each edge is an ordinary one, or of the kind that is given."""
        made, before = self.make("cuGraphCreate", 0), None
        for launch in launches:
            node, plain = ctypes.c_void_p(), before and edge is None
            self.call("cuGraphAddKernelNode_v2", ctypes.byref(node), made, ctypes.byref(before) if plain else None, ctypes.c_size_t(1 if plain else 0),
                      ctypes.byref(launch.node()))
            if before and edge is not None:
                self.call(LATER, made, ctypes.byref(before), ctypes.byref(node), ctypes.byref(edge), ctypes.c_size_t(1))
            before = node
        return Graph(self, made, self.make("cuGraphInstantiateWithFlags", made, ctypes.c_uint64(0)))

    def milliseconds(self, run, stream=None):
        """Between two events of a stream, what `run` puts there in between; returns when it is done."""
        stream = handle(stream or self.stream)
        first, last = (self.make("cuEventCreate", 0) for _ in range(2))
        self.call("cuEventRecord", first, stream)
        run()
        self.call("cuEventRecord", last, stream)
        self.synchronize(stream)
        taken = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(taken), first, last)
        for event in (first, last):
            self.call("cuEventDestroy_v2", event)
        return taken.value

    def microseconds(self, launches, replays, edge=None):
        """The median for one launch of a graph of these."""
        graph = self.graph(launches, edge)
        samples = [self.milliseconds(graph.launch) for _ in range(replays + self.unmeasured)][self.unmeasured :]
        graph.close()
        return 1e3 * median(samples) / len(launches)


class Graph:
    """Launches that were recorded."""

    def __init__(self, device, made, executable):
        self.device, self.made, self.executable = device, made, executable

    def launch(self):
        self.device.call("cuGraphLaunch", self.executable, self.device.stream)

    def close(self):
        self.device.synchronize()
        self.device.call("cuGraphExecDestroy", self.executable)
        self.device.call("cuGraphDestroy", self.made)

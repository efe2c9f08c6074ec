//===- GuardedRun.cpp - A compiled program between guard pages ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/GuardedRun.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>
#include <list>
#include <map>
#include <mutex>

using namespace mlir;
using namespace hova;

/// What arena, weights and scratch are aligned to.
static constexpr int64_t kAlignment = 64;

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

static int64_t elementBytesOf(MemRefType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// With the padding of the last row.
static int64_t bytesOf(MemRefType type) {
  if (type.getRank() == 0) {
    return elementBytesOf(type);
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  LogicalResult known = type.getStridesAndOffset(strides, offset);
  assert(succeeded(known) && "buffers are strided");
  (void)known;
  return type.getShape()[0] * strides[0] * elementBytesOf(type);
}

/// Names of what is in the image and in the arena, by their offsets.
namespace {
class BufferNames {
public:
  BufferNames(ModuleOp tiled, func::FuncOp main) {
    collect(tiled, kFoldingFunction, weights);
    collect(tiled, kTableProgram, tables);
    values = main->getAttrOfType<ArrayAttr>(kValuesAttr);
  }

  /// As kernel `kernel` sees it.
  std::string nameOf(Value buffer, int64_t kernel) const {
    if (auto image = buffer.getDefiningOp<ImageBufferOp>()) {
      return "weight '" + weights.lookup(image.getOffset()) + "'";
    }
    if (auto table = buffer.getDefiningOp<TableBufferOp>()) {
      return "table '" + tables.lookup(table.getOffset()) + "'";
    }
    if (buffer.getDefiningOp<SequenceBufferOp>()) {
      return "the table of sequences";
    }
    if (Operation *place = buffer.getDefiningOp();
        place && place->hasAttr(kContentsAttr)) {
      return "the words that say what a call does";
    }
    if (buffer.getDefiningOp<ChunkBufferOp>()) {
      auto name = buffer.getLoc()->findInstanceOf<NameLoc>();
      return name ? ("the thread chunk's value '" + name.getName().strref() +
                     "'")
                        .str()
                  : "a value of the thread chunk";
    }
    auto arena = buffer.getDefiningOp<ArenaBufferOp>();
    if (!arena) {
      return "";
    }
    // Values share memory one after the other; the last one written counts.
    std::string path;
    for (Attribute value : values) {
      auto entry = cast<DictionaryAttr>(value);
      if (entry.getAs<IntegerAttr>("kernel").getInt() <= kernel &&
          entry.getAs<IntegerAttr>("offset").getInt() ==
              static_cast<int64_t>(arena.getOffset())) {
        path = entry.getAs<StringAttr>("path").getValue();
      }
    }
    return "value '" + path + "'";
  }

private:
  using Names = DenseMap<int64_t, std::string>;

  /// What `program` stores where.
  static void collect(ModuleOp tiled, StringRef program, Names &names) {
    if (auto function = tiled.lookupSymbol<func::FuncOp>(program)) {
      for (StoreWeightOp store : function.getOps<StoreWeightOp>()) {
        names[store->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt()] =
            store.getName().str();
      }
    }
  }

  Names weights, tables;
  ArrayAttr values;
};
} // namespace

std::vector<GuardedLaunch> hova::planGuards(ModuleOp tiled) {
  auto main = tiled.lookupSymbol<func::FuncOp>("main");
  BufferNames names(tiled, main);
  std::vector<GuardedLaunch> launches;
  for (LaunchOp op : main.getOps<LaunchOp>()) {
    GuardedLaunch &launch = launches.emplace_back();
    for (Value buffer : op.getBuffers()) {
      auto type = cast<MemRefType>(buffer.getType());
      auto chunk = buffer.getDefiningOp<ChunkBufferOp>();
      launch.buffers.push_back(
          {names.nameOf(buffer, static_cast<int64_t>(launches.size()) - 1),
           chunk ? chunk.getRowBytes() : bytesOf(type), elementBytesOf(type)});
      Operation *place = buffer.getDefiningOp();
      auto whole = place ? place->getAttrOfType<DenseI64ArrayAttr>(kWholeAttr)
                         : DenseI64ArrayAttr();
      if (whole) {
        GuardedLaunch::Buffer &part = launch.buffers.back();
        part.within = cast<ArenaBufferOp>(place).getOffset() - whole[0];
        part.bytes = whole[1];
      }
    }
    // Kernels take buffers, scratch, and the range of units.
    auto kernel = tiled.lookupSymbol<func::FuncOp>(op.getCallee());
    launch.scratchBytes = bytesOf(
        cast<MemRefType>(kernel.getArgumentTypes().drop_back(2).back()));
  }
  return launches;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

namespace {
/// Takes the place of every call of a kernel.
class Guard {
public:
  Guard(const hova_program &program, llvm::ArrayRef<GuardedLaunch> launches,
        GuardedMemory::Flush flush)
      : program(program), launches(launches), flush(flush) {}

  /// A `hova_intercept_fn`.
  static void intercept(void *guard, uint64_t number, const hova_launch *launch,
                        void *const *addresses, uint64_t begin, uint64_t end,
                        hova_call_fn *call) {
    auto &self = *static_cast<Guard *>(guard);
    std::lock_guard<std::mutex> oneThread(self.mutex);
    if (self.problem.empty() && self.result.fault.empty()) {
      self.run(number, *launch, addresses, begin, end, call);
    }
  }

  /// Of the run that has ended.
  llvm::Expected<GuardedResult> take();

private:
  /// Blocks that a call touches, by the names they have in messages.
  struct Touched {
    std::string name;
    const GuardedMemory *memory;
  };
  /// Blocks of one call alone, which stay where they are.
  using CallMemory = std::list<GuardedMemory>;

  void run(uint64_t number, const hova_launch &launch, void *const *addresses,
           uint64_t begin, uint64_t end, hova_call_fn *call);
  GuardedMemory *place(uint64_t buffer, const GuardedLaunch::Buffer &planned,
                       const void *address);
  GuardedMemory *placeForCall(int64_t bytes, CallMemory &memory);
  std::string nameOf(uint64_t buffer,
                     const GuardedLaunch::Buffer &planned) const;
  void reportFault(uint64_t number, const MemoryFault &fault,
                   llvm::ArrayRef<Touched> touched);
  void reportOverwritten(uint64_t number, llvm::ArrayRef<Touched> touched);
  void report(uint64_t number, const llvm::Twine &what);

  const hova_program &program;
  llvm::ArrayRef<GuardedLaunch> launches;
  GuardedMemory::Flush flush;
  std::mutex mutex;
  /// By what launches call a buffer, and its size: values that share a place in
  /// the arena one after the other differ in it, or may share this one too.
  std::map<std::pair<uint64_t, int64_t>, GuardedMemory> blocks;
  std::string problem; ///< why the check itself failed
  GuardedResult result;
};
} // namespace

GuardedMemory *Guard::place(uint64_t buffer,
                            const GuardedLaunch::Buffer &planned,
                            const void *address) {
  auto known = blocks.find({buffer, planned.bytes});
  if (known != blocks.end()) {
    return &known->second;
  }
  uint64_t kind = buffer & HOVA_BUFFER_KINDS;
  // Callers align what they own to its elements alone.
  bool owned = kind == HOVA_INPUT || kind == HOVA_OUTPUT;
  auto memory = GuardedMemory::create(
      planned.bytes, owned ? planned.elementBytes : kAlignment, flush);
  if (!memory) {
    problem = llvm::toString(memory.takeError());
    return nullptr;
  }
  bool isRead = kind == HOVA_INPUT || kind == HOVA_IN_WEIGHTS ||
                kind == HOVA_IN_TABLES || kind == HOVA_IN_SEQUENCES ||
                kind == HOVA_OF_STEP;
  if (isRead) {
    memcpy(memory->data(), address, planned.bytes);
    memory->makeReadOnly();
  }
  return &blocks.try_emplace({buffer, planned.bytes}, std::move(*memory))
              .first->second;
}

GuardedMemory *Guard::placeForCall(int64_t bytes, CallMemory &memory) {
  auto created = GuardedMemory::create(bytes, kAlignment, flush);
  if (!created) {
    problem = llvm::toString(created.takeError());
    return nullptr;
  }
  return &memory.emplace_back(std::move(*created));
}

std::string Guard::nameOf(uint64_t buffer,
                          const GuardedLaunch::Buffer &planned) const {
  uint64_t number = buffer >> HOVA_BUFFER_KIND_BITS;
  switch (buffer & HOVA_BUFFER_KINDS) {
  case HOVA_INPUT:
    return llvm::formatv("input '{0}'", program.inputs[number].name);
  case HOVA_OUTPUT:
    return llvm::formatv("output '{0}'", program.outputs[number].name);
  default:
    return planned.name;
  }
}

void Guard::run(uint64_t number, const hova_launch &launch,
                void *const *addresses, uint64_t begin, uint64_t end,
                hova_call_fn *call) {
  const GuardedLaunch &plan = launches[number];
  auto *buffers = reinterpret_cast<const uint64_t *>(&launch + 1);
  SmallVector<void *> guarded;
  SmallVector<Touched> touched;
  // Nothing in scratch or in a thread chunk outlives a call.
  CallMemory ofCall;
  uint64_t rows = std::min(launch.block, end - begin);
  for (uint64_t i = 0; i < launch.num_buffers; ++i) {
    const GuardedLaunch::Buffer &planned = plan.buffers[i];
    bool isChunk = (buffers[i] & HOVA_BUFFER_KINDS) == HOVA_IN_CHUNK;
    // Parts of a value are where the whole is: the low bits tell the kind.
    GuardedMemory *memory =
        isChunk ? placeForCall(rows * planned.bytes, ofCall)
                : place(buffers[i] - planned.within, planned, addresses[i]);
    if (!memory) {
      return;
    }
    // Of a chunk, where the row of unit 0 would be.
    int64_t first = isChunk ? static_cast<int64_t>(begin) * planned.bytes : 0;
    guarded.push_back(reinterpret_cast<void *>(
        reinterpret_cast<uintptr_t>(memory->data()) + planned.within - first));
    touched.push_back({nameOf(buffers[i], planned), memory});
  }
  GuardedMemory *scratch = placeForCall(plan.scratchBytes, ofCall);
  if (!scratch) {
    return;
  }
  touched.push_back({"scratch", scratch});
  std::optional<MemoryFault> fault = catchFault([&] {
    call(launch.kernel, guarded.data(), scratch->data(), begin, end);
  });
  if (fault) {
    reportFault(number, *fault, touched);
  } else {
    reportOverwritten(number, touched);
  }
}

void Guard::report(uint64_t number, const llvm::Twine &what) {
  result.kernel = static_cast<int32_t>(number);
  result.fault = llvm::formatv("kernel {0} (function {1}) {2}",
                               program.kernels[number].path,
                               program.kernels[number].symbol, what.str());
}

/// "after the 35 bytes of input 'mask', at byte 3 from there"
static std::string placeOf(int64_t offset, const GuardedMemory &memory,
                           StringRef name) {
  if (offset < 0) {
    return llvm::formatv("{0} bytes before {1}", -offset, name);
  }
  if (offset >= memory.bytes()) {
    return llvm::formatv("{0} bytes after the end of {1}, which has {2}",
                         offset - memory.bytes() + 1, name, memory.bytes());
  }
  return llvm::formatv("byte {0} of {1}, which is read-only", offset, name);
}

void Guard::reportFault(uint64_t number, const MemoryFault &fault,
                        llvm::ArrayRef<Touched> touched) {
  const char *verb = fault.writes ? "writes " : "reads ";
  for (const Touched &block : touched) {
    if (block.memory->surrounds(fault.address)) {
      report(number, verb + placeOf(fault.address - block.memory->data(),
                                    *block.memory, block.name));
      return;
    }
  }
  report(number, llvm::Twine(verb) + "memory that it was not given");
}

void Guard::reportOverwritten(uint64_t number,
                              llvm::ArrayRef<Touched> touched) {
  for (const Touched &block : touched) {
    if (auto offset = block.memory->findOverwritten()) {
      report(number, "writes " + placeOf(*offset, *block.memory, block.name));
      return;
    }
  }
}

llvm::Expected<GuardedResult> Guard::take() {
  if (!problem.empty()) {
    return llvm::createStringError(std::errc::not_enough_memory,
                                   problem.c_str());
  }
  if (!result.fault.empty()) {
    return std::move(result);
  }
  for (uint32_t i = 0; i < program.num_outputs; ++i) {
    const hova_tensor_info &info = program.outputs[i];
    uint64_t number = static_cast<uint64_t>(i) << HOVA_BUFFER_KIND_BITS;
    // Where no kernel wrote it, it is what nothing wrote.
    std::vector<char> nothing(storedBytes(info), '\xff');
    auto block = blocks.find({number | HOVA_OUTPUT, storedBytes(info)});
    result.outputs.push_back(readStored(
        block == blocks.end() ? nothing.data() : block->second.data(), info));
  }
  return std::move(result);
}

llvm::Expected<GuardedResult>
hova::runGuarded(CompiledProgram &program,
                 llvm::ArrayRef<GuardedLaunch> launches,
                 llvm::ArrayRef<HostTensor> inputs, int32_t threads,
                 GuardedMemory::Flush flush) {
  Guard guard(program.description(), launches, flush);
  RunHooks hooks;
  hooks.intercept = Guard::intercept;
  hooks.interceptor = &guard;
  auto outputs = program.run(inputs, threads, hooks);
  return outputs ? guard.take() : outputs.takeError();
}

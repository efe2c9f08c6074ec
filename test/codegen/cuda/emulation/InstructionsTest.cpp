//===- InstructionsTest.cpp - Each operation of the table, emulated -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A case is named as the entry of the table that it tests. Its code computes %r
// from two words, %x and %y, which are the numbers %f and %g too. What is
// expected is written from the PTX ISA.

#include "Device.h"
#include "Halves.h"
#include "codegen/cuda/lower/DeviceOperations.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace hova;
using namespace hova::test;

namespace {

constexpr uint32_t kNan = 0x7FFFFFFF;
constexpr std::array<uint32_t, 3> kGrid = {2, 3, 2}, kBlock = {8, 2, 4};
constexpr unsigned kThreads = 64, kValues = 12 * kThreads;

/// What a thread has, and what the others of its warp have.
struct In {
  uint32_t x, y;
  float f, g;
  const uint32_t *xs, *ys; ///< of lane 0 on
  unsigned thread, lane, block;
};

struct Case {
  const char *entry;
  const char *code;
  uint32_t (*expected)(const In &);
};

uint32_t flush(uint32_t word) {
  return (word & 0x7F800000) ? word : word & 0x80000000;
}

uint32_t ex2(uint32_t word) {
  float result = std::exp2(static_cast<double>(numberOf(word)));
  return wordOf(result);
}

/// The low half of x, scaled, as f16.
#define SCALED_TO_F16(FACTOR)                                                  \
  "%low = llvm.mlir.constant(65535 : i32) : i32\n"                             \
  "%k = llvm.and %x, %low : i32\n"                                             \
  "%e = llvm.mlir.constant(" FACTOR " : f32) : f32\n"                          \
  "%u = llvm.uitofp %k : i32 to f32\n"                                         \
  "%q = llvm.fmul %u, %e : f32\n"                                              \
  "%n = llvm.fptrunc %q : f32 to f16\n"                                        \
  "%b = llvm.bitcast %n : f16 to i16\n"                                        \
  "%r = llvm.zext %b : i16 to i32"
#define REGISTER(NAME, VALUE)                                                  \
  {"nvvm.read.ptx.sreg." NAME, "%r = nvvm.read.ptx.sreg." NAME " : i32",       \
   [](const In &in) -> uint32_t { return VALUE; }}
#define INTEGER(NAME, CODE, VALUE)                                             \
  {"llvm." NAME, CODE, [](const In &in) -> uint32_t {                          \
     uint32_t x = in.x, y = in.y;                                              \
     int32_t s = static_cast<int32_t>(x), t = static_cast<int32_t>(y);         \
     (void)s, (void)t, (void)x, (void)y;                                       \
     return VALUE;                                                             \
   }}
#define FLOAT(NAME, CODE, VALUE)                                               \
  {"llvm." NAME, CODE "\n%r = llvm.bitcast %h : f32 to i32",                   \
   [](const In &in) -> uint32_t {                                              \
     float f = in.f, g = in.g;                                                 \
     (void)f, (void)g;                                                         \
     return wordOf(VALUE);                                                     \
   }}
#define BINARY(NAME, VALUE)                                                    \
  INTEGER(NAME, "%r = llvm." NAME " %x, %y : i32", VALUE)
#define MINMAX(NAME, VALUE)                                                    \
  INTEGER("intr." NAME, "%r = llvm.intr." NAME "(%x, %y) : (i32, i32) -> i32", \
          VALUE)
#define APPROXIMATE(NAME, VALUE)                                               \
  {"llvm.nvvm." NAME,                                                          \
   "%h = llvm.call_intrinsic \"llvm.nvvm." NAME "\"(%f) : (f32) -> f32\n"      \
   "%r = llvm.bitcast %h : f32 to i32",                                        \
   [](const In &in) -> uint32_t { return VALUE; }}
#define SHUFFLE(KIND, OFFSET, SEGMENTS, SOURCE)                                \
  {"nvvm.shfl.sync",                                                           \
   "%offset = llvm.mlir.constant(" #OFFSET " : i32) : i32\n"                   \
   "%segments = llvm.mlir.constant(" #SEGMENTS " : i32) : i32\n"               \
   "%r = nvvm.shfl.sync " #KIND " %all, %x, %offset, %segments : i32 -> i32",  \
   [](const In &in) -> uint32_t {                                              \
     [[maybe_unused]] uint32_t lane = in.lane;                                 \
     return in.xs[SOURCE];                                                     \
   }}

const Case kCases[] = {
    REGISTER("tid.x", in.thread % 8),
    REGISTER("tid.y", in.thread / 8 % 2),
    REGISTER("tid.z", in.thread / 16),
    REGISTER("ntid.x", 8),
    REGISTER("ntid.y", 2),
    REGISTER("ntid.z", 4),
    REGISTER("ctaid.x", in.block % 2),
    REGISTER("ctaid.y", in.block / 2 % 3),
    REGISTER("ctaid.z", in.block / 6),
    REGISTER("nctaid.x", 2),
    REGISTER("nctaid.y", 3),
    REGISTER("nctaid.z", 2),
    REGISTER("laneid", in.lane),

    // The neighbour in the other warp has written before the barrier.
    {"nvvm.barrier0",
     R"(llvm.store %x, %slot : i32, !llvm.ptr<3>
        nvvm.barrier0
        %r = llvm.load %mirrored : !llvm.ptr<3> -> i32)",
     [](const In &in) -> uint32_t {
       return in.xs[63 - 2 * static_cast<int>(in.thread) +
                    static_cast<int>(in.lane)];
     }},
    {"nvvm.barrier",
     R"(llvm.store %x, %slot : i32, !llvm.ptr<3>
        nvvm.barrier
        %r = llvm.load %mirrored : !llvm.ptr<3> -> i32)",
     [](const In &in) -> uint32_t {
       return in.xs[63 - 2 * static_cast<int>(in.thread) +
                    static_cast<int>(in.lane)];
     }},
    {"nvvm.bar.warp.sync",
     R"(llvm.store %x, %slot : i32, !llvm.ptr<3>
        nvvm.bar.warp.sync %all : i32
        %r = llvm.load %next : !llvm.ptr<3> -> i32)",
     [](const In &in) -> uint32_t { return in.xs[in.lane ^ 1]; }},
    SHUFFLE(bfly, 5, 31, lane ^ 5),
    SHUFFLE(bfly, 16, 31, lane ^ 16),
    SHUFFLE(up, 3, 0, lane < 3 ? lane : lane - 3),
    SHUFFLE(down, 7, 31, lane > 24 ? lane : lane + 7),
    SHUFFLE(idx, 9, 31, 9),
    // Segments of eight lanes: the mask is 0x18.
    SHUFFLE(down, 3, 6151, lane % 8 > 4 ? lane : lane + 3),
    SHUFFLE(idx, 2, 6151, lane / 8 * 8 + 2),
    {"nvvm.shfl.sync",
     R"(%offset = llvm.mlir.constant(7 : i32) : i32
        %clamp = llvm.mlir.constant(31 : i32) : i32
        %both = nvvm.shfl.sync down %all, %f, %offset, %clamp {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
        %valid = llvm.extractvalue %both[1] : !llvm.struct<(f32, i1)>
        %r = llvm.zext %valid : i1 to i32)",
     [](const In &in) -> uint32_t { return in.lane <= 24; }},

    {"llvm.load", "%r = llvm.load %px : !llvm.ptr<1> -> i32",
     [](const In &in) {
       return in
           .xs[-static_cast<int>(in.block * kThreads + in.thread - in.lane)];
     }},
    {"llvm.store",
     R"(llvm.store %x, %slot : i32, !llvm.ptr<3>
        %r = llvm.load %slot : !llvm.ptr<3> -> i32)",
     [](const In &in) { return in.x; }},
    {"nvvm.cp.async.shared.global",
     R"(%four = llvm.mlir.constant(4 : i32) : i32
        nvvm.cp.async.shared.global %slot, %at, 4, cache = ca, %four : !llvm.ptr<3>, !llvm.ptr<1>, i32
        nvvm.cp.async.commit.group
        nvvm.cp.async.wait.group 0
        %r = llvm.load %slot : !llvm.ptr<3> -> i32)",
     [](const In &in) { return in.x; }},
    // Two bytes are read, and zeros follow them.
    {"nvvm.cp.async.shared.global",
     R"(%two = llvm.mlir.constant(2 : i32) : i32
        nvvm.cp.async.shared.global %slot, %at, 4, cache = ca, %two : !llvm.ptr<3>, !llvm.ptr<1>, i32
        nvvm.cp.async.commit.group
        nvvm.cp.async.wait.group 0
        %r = llvm.load %slot : !llvm.ptr<3> -> i32)",
     [](const In &in) { return in.x & 0xFFFF; }},
    // One of two groups is on its way, and the wait is for the other.
    {"nvvm.cp.async.commit.group",
     R"(%far = llvm.getelementptr %slot[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
        nvvm.cp.async.shared.global %slot, %at, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
        nvvm.cp.async.commit.group
        nvvm.cp.async.shared.global %far, %at, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
        nvvm.cp.async.commit.group
        nvvm.cp.async.wait.group 1
        %r = llvm.load %slot : !llvm.ptr<3> -> i32)",
     [](const In &in) { return in.x; }},
    {"nvvm.cp.async.wait.group",
     R"(nvvm.cp.async.shared.global %slot, %at, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
        nvvm.cp.async.commit.group
        nvvm.cp.async.commit.group
        nvvm.cp.async.wait.group 1
        %r = llvm.load %slot : !llvm.ptr<3> -> i32)",
     [](const In &in) { return in.x; }},
    {"llvm.mlir.addressof",
     R"(%fixed = llvm.mlir.addressof @fixed : !llvm.ptr<3>
        %place = llvm.getelementptr %fixed[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
        llvm.store %x, %place : i32, !llvm.ptr<3>
        llvm.store %y, %slot : i32, !llvm.ptr<3>
        %r = llvm.load %place : !llvm.ptr<3> -> i32)",
     [](const In &in) { return in.x; }},
    {"llvm.getelementptr",
     R"(%back = llvm.mlir.constant(-1 : i32) : i32
        %beyond = llvm.getelementptr %slot[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
        %same = llvm.getelementptr inbounds %beyond[%back] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
        llvm.store %x, %same : i32, !llvm.ptr<3>
        %r = llvm.load %slot : !llvm.ptr<3> -> i32)",
     [](const In &in) { return in.x; }},

    {"llvm.fptrunc",
     R"(%n = llvm.fptrunc %f : f32 to bf16
        %b = llvm.bitcast %n : bf16 to i16
        %r = llvm.zext %b : i16 to i32)",
     [](const In &in) { return roundToBf16(in.f); }},
    {"llvm.fptrunc",
     R"(%p = llvm.mlir.poison : vector<2xf32>
        %c0 = llvm.mlir.constant(0 : i32) : i32
        %c1 = llvm.mlir.constant(1 : i32) : i32
        %q = llvm.insertelement %f, %p[%c0 : i32] : vector<2xf32>
        %v = llvm.insertelement %g, %q[%c1 : i32] : vector<2xf32>
        %n = llvm.fptrunc %v : vector<2xf32> to vector<2xbf16>
        %r = llvm.bitcast %n : vector<2xbf16> to i32)",
     [](const In &in) { return roundToBf16(in.f) | roundToBf16(in.g) << 16; }},
    {"llvm.fpext",
     R"(%h16 = llvm.trunc %x : i32 to i16
        %n = llvm.bitcast %h16 : i16 to bf16
        %h = llvm.fpext %n : bf16 to f32
        %r = llvm.bitcast %h : f32 to i32)",
     [](const In &in) { return in.x << 16; }},
    {"llvm.fptrunc to f16",
     R"(%n = llvm.fptrunc %f : f32 to f16
        %b = llvm.bitcast %n : f16 to i16
        %r = llvm.zext %b : i16 to i32)",
     [](const In &in) { return roundToF16(in.f); }},
    // Numbers around 1, every 32nd half way between two, and below the normal
    // ones.
    {"llvm.fptrunc to f16", SCALED_TO_F16("0x39800000"),
     [](const In &in) {
       return roundToF16(std::ldexp(float(in.x & 0xFFFF), -12));
     }},
    {"llvm.fptrunc to f16", SCALED_TO_F16("0x2F800000"),
     [](const In &in) {
       return roundToF16(std::ldexp(float(in.x & 0xFFFF), -32));
     }},
    {"llvm.fptrunc to f16",
     R"(%p = llvm.mlir.poison : vector<2xf32>
        %c0 = llvm.mlir.constant(0 : i32) : i32
        %c1 = llvm.mlir.constant(1 : i32) : i32
        %q = llvm.insertelement %f, %p[%c0 : i32] : vector<2xf32>
        %v = llvm.insertelement %g, %q[%c1 : i32] : vector<2xf32>
        %n = llvm.fptrunc %v : vector<2xf32> to vector<2xf16>
        %r = llvm.bitcast %n : vector<2xf16> to i32)",
     [](const In &in) { return roundToF16(in.f) | roundToF16(in.g) << 16; }},
    {"llvm.fpext of f16",
     R"(%h16 = llvm.trunc %x : i32 to i16
        %n = llvm.bitcast %h16 : i16 to f16
        %h = llvm.fpext %n : f16 to f32
        %r = llvm.bitcast %h : f32 to i32)",
     [](const In &in) -> uint32_t {
       uint32_t sign = (in.x & 0x8000) << 16;
       if ((in.x & 0x7C00) == 0x7C00) {
         return in.x & 0x3FF ? kNan : sign | 0x7F800000;
       }
       return wordOf(static_cast<float>(numberOfF16(in.x & 0xFFFF)));
     }},
#define EXTREME(NAME, LESS, NAN_WINS)                                          \
  {"llvm.intr." NAME,                                                          \
   "%h = llvm.intr." NAME "(%f, %g) : (f32, f32) -> f32\n"                     \
   "%r = llvm.bitcast %h : f32 to i32",                                        \
   [](const In &in) -> uint32_t {                                              \
     if (std::isnan(in.f) || std::isnan(in.g)) {                               \
       bool both = std::isnan(in.f) && std::isnan(in.g);                       \
       return both || NAN_WINS ? kNan : std::isnan(in.f) ? in.y : in.x;        \
     }                                                                         \
     auto order = [](uint32_t w) {                                             \
       return w >> 31 ? -static_cast<int64_t>(w & kNan) - 1                    \
                      : static_cast<int64_t>(w);                               \
     };                                                                        \
     return (order(in.x) < order(in.y)) == LESS ? in.x : in.y;                 \
   }}
    EXTREME("maxnum", false, false),
    EXTREME("minnum", true, false),
    EXTREME("maximum", false, true),
    EXTREME("minimum", true, true),
#undef EXTREME
    {"llvm.fptosi", "%r = llvm.fptosi %f : f32 to i32",
     [](const In &in) -> uint32_t {
       double bounded =
           std::isnan(in.f)
               ? 0
               : std::min(std::max<double>(in.f, INT32_MIN), 0x1.fffffffcp30);
       return static_cast<int32_t>(bounded);
     }},
    {"llvm.fptoui", "%r = llvm.fptoui %f : f32 to i32",
     [](const In &in) -> uint32_t {
       double bounded = std::isnan(in.f) ? 0
                                         : std::min(std::max<double>(in.f, 0),
                                                    0x1.fffffffep31);
       return static_cast<uint32_t>(bounded);
     }},
    APPROXIMATE("ex2.approx.f32", ex2(in.x)),
    APPROXIMATE("ex2.approx.ftz.f32", flush(ex2(flush(in.x)))),
    APPROXIMATE("lg2.approx.f", wordOf(std::log2(double{in.f}))),
    APPROXIMATE("rcp.approx.ftz.f",
                flush(wordOf(1 / double{numberOf(flush(in.x))}))),
    APPROXIMATE("rsqrt.approx.f", wordOf(1 / std::sqrt(double{in.f}))),
    APPROXIMATE("rsqrt.approx.ftz.f",
                flush(wordOf(1 / std::sqrt(double{numberOf(flush(in.x))})))),
    BINARY("shl", y < 32 ? x << y : 0),
    BINARY("lshr", y < 32 ? x >> y : 0),
    BINARY("ashr", y < 32 ? s >> y : s >> 31),
    INTEGER("udiv", "%d = llvm.or %y, %one : i32\n%r = llvm.udiv %x, %d : i32",
            x / (y | 1)),
    INTEGER("urem", "%d = llvm.or %y, %one : i32\n%r = llvm.urem %x, %d : i32",
            x % (y | 1)),
    INTEGER("sdiv",
            "%two = llvm.mlir.constant(2 : i32) : i32\n"
            "%e = llvm.or %y, %one : i32\n%d = llvm.xor %e, %two : i32\n"
            "%k = llvm.lshr %x, %one : i32\n%r = llvm.sdiv %k, %d : i32",
            static_cast<int32_t>(x >> 1) / static_cast<int32_t>((y | 1) ^ 2)),
    INTEGER("srem",
            "%two = llvm.mlir.constant(2 : i32) : i32\n"
            "%e = llvm.or %y, %one : i32\n%d = llvm.xor %e, %two : i32\n"
            "%k = llvm.lshr %x, %one : i32\n%r = llvm.srem %k, %d : i32",
            static_cast<int32_t>(x >> 1) % static_cast<int32_t>((y | 1) ^ 2)),

    FLOAT("fadd", "%h = llvm.fadd %f, %g : f32", f + g),
    FLOAT("fsub", "%h = llvm.fsub %f, %g : f32", f - g),
    FLOAT("fmul", "%h = llvm.fmul %f, %g : f32", f *g),
    // Not fused: the product is rounded.
    FLOAT("fmul", "%p = llvm.fmul %f, %g : f32\n%h = llvm.fadd %p, %g : f32",
          static_cast<float>(static_cast<double>(f) * g) + g),
    FLOAT("fdiv", "%h = llvm.fdiv %f, %g : f32", f / g),
    FLOAT("fneg", "%h = llvm.fneg %f : f32", -f),
    INTEGER("fcmp",
            "%c = llvm.fcmp \"olt\" %f, %g : f32\n"
            "%r = llvm.zext %c : i1 to i32",
            in.f < in.g),
    FLOAT("sitofp", "%h = llvm.sitofp %x : i32 to f32",
          static_cast<float>(static_cast<int32_t>(in.x))),
    FLOAT("uitofp", "%h = llvm.uitofp %x : i32 to f32",
          static_cast<float>(in.x)),
    FLOAT("intr.fma", "%h = llvm.intr.fma(%f, %g, %g) : (f32, f32, f32) -> f32",
          std::fma(f, g, g)),
    FLOAT("intr.fabs", "%h = llvm.intr.fabs(%f) : (f32) -> f32", std::fabs(f)),
    FLOAT("intr.copysign",
          "%h = llvm.intr.copysign(%f, %g) : (f32, f32) -> f32",
          numberOf((in.x & kNan) | (in.y & ~kNan))),
    FLOAT("intr.sqrt", "%h = llvm.intr.sqrt(%f) : (f32) -> f32",
          static_cast<float>(std::sqrt(static_cast<double>(f)))),
    FLOAT("intr.floor", "%h = llvm.intr.floor(%f) : (f32) -> f32",
          std::floor(f)),
    FLOAT("intr.ceil", "%h = llvm.intr.ceil(%f) : (f32) -> f32", std::ceil(f)),
    BINARY("add", x + y),
    BINARY("sub", x - y),
    BINARY("mul", x *y),
    BINARY("and", x &y),
    BINARY("or", x | y),
    BINARY("xor", x ^ y),
    INTEGER("icmp",
            "%c = llvm.icmp \"slt\" %x, %y : i32\n"
            "%r = llvm.zext %c : i1 to i32",
            s < t),
    MINMAX("smax", static_cast<uint32_t>(std::max(s, t))),
    MINMAX("smin", static_cast<uint32_t>(std::min(s, t))),
    MINMAX("umax", std::max(x, y)),
    MINMAX("umin", std::min(x, y)),
    INTEGER("select",
            "%c = llvm.icmp \"ult\" %x, %y : i32\n"
            "%r = llvm.select %c, %x, %one : i1, i32",
            x < y ? x : 1),
    INTEGER("sext",
            "%b = llvm.trunc %x : i32 to i8\n"
            "%r = llvm.sext %b : i8 to i32",
            static_cast<uint32_t>(static_cast<int8_t>(x))),
    INTEGER("zext",
            "%b = llvm.trunc %x : i32 to i8\n"
            "%r = llvm.zext %b : i8 to i32",
            x & 0xFF),
    INTEGER("trunc",
            "%w = llvm.zext %x : i32 to i64\n"
            "%p = llvm.mul %w, %w : i64\n"
            "%r = llvm.trunc %p : i64 to i32",
            x *x),
    INTEGER("bitcast", "%r = llvm.bitcast %f : f32 to i32", x),
    INTEGER("mlir.constant", "%r = llvm.mlir.constant(77 : i32) : i32", 77),
    INTEGER("mlir.zero", "%r = llvm.mlir.zero : i32", 0),
    INTEGER("extractvalue",
            "%p = llvm.mlir.undef : !llvm.struct<(i32, i32)>\n"
            "%q = llvm.insertvalue %x, %p[0] : !llvm.struct<(i32, i32)>\n"
            "%s = llvm.insertvalue %y, %q[1] : !llvm.struct<(i32, i32)>\n"
            "%r = llvm.extractvalue %s[1] : !llvm.struct<(i32, i32)>",
            y),
    INTEGER("insertvalue",
            "%p = llvm.mlir.undef : !llvm.struct<(i32, i32)>\n"
            "%q = llvm.insertvalue %x, %p[0] : !llvm.struct<(i32, i32)>\n"
            "%r = llvm.extractvalue %q[0] : !llvm.struct<(i32, i32)>",
            x),
    INTEGER("mlir.undef",
            "%p = llvm.mlir.undef : vector<2xi32>\n"
            "%q = llvm.insertelement %x, %p[%one : i32] : vector<2xi32>\n"
            "%r = llvm.extractelement %q[%one : i32] : vector<2xi32>",
            x),
    INTEGER("mlir.poison",
            "%p = llvm.mlir.poison : vector<2xi32>\n"
            "%q = llvm.insertelement %x, %p[%one : i32] : vector<2xi32>\n"
            "%r = llvm.extractelement %q[%one : i32] : vector<2xi32>",
            x),
    INTEGER("extractelement",
            "%w = llvm.bitcast %x : i32 to vector<2xi16>\n"
            "%e = llvm.extractelement %w[%one : i32] : vector<2xi16>\n"
            "%r = llvm.zext %e : i16 to i32",
            x >> 16),
    INTEGER("insertelement",
            "%w = llvm.bitcast %x : i32 to vector<2xi16>\n"
            "%e = llvm.trunc %y : i32 to i16\n"
            "%n = llvm.insertelement %e, %w[%one : i32] : vector<2xi16>\n"
            "%r = llvm.bitcast %n : vector<2xi16> to i32",
            (x & 0xFFFF) | y << 16),
    INTEGER("shufflevector",
            "%v = llvm.bitcast %x : i32 to vector<2xi16>\n"
            "%w = llvm.bitcast %y : i32 to vector<2xi16>\n"
            "%n = llvm.shufflevector %v, %w [3, 0] : vector<2xi16>\n"
            "%r = llvm.bitcast %n : vector<2xi16> to i32",
            y >> 16 | x << 16),
    INTEGER("br", "llvm.br ^next(%x : i32)\n^next(%r: i32):", x),
    INTEGER("cond_br",
            "%c = llvm.icmp \"ult\" %x, %y : i32\n"
            "llvm.cond_br %c, ^next(%x : i32), ^next(%y : i32)\n"
            "^next(%r: i32):",
            std::min(x, y)),
    INTEGER("return", "%r = llvm.add %x, %x : i32", 2 * x),
};

/// Tested by MatricesTest.cpp and WgmmaTest.cpp, which need more than two
/// words, and by LaunchOrderTest.cpp, which need launches that overlap.
const char *const kElsewhere[] = {
    "nvvm.ldmatrix",           "nvvm.mma.sync",     "hova_cuda.wgmma",
    "hova_cuda.wgmma_wait",    "nvvm.fence.proxy",  "hova_cuda.await_launches",
    "nvvm.cluster.arrive",     "nvvm.cluster.wait", "nvvm.mapa",
    "hova_cuda.allow_launches"};

std::string kernelOf(const Case &tested) {
  return llvm::formatv(R"(
llvm.mlir.global external @fixed() {{addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x i8>
llvm.mlir.global external @dynamic() {{addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
llvm.func @kernel(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pr: !llvm.ptr<1>) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 8, 2, 4>} {{
  %one = llvm.mlir.constant(1 : i32) : i32
  %n2 = llvm.mlir.constant(2 : i32) : i32
  %n3 = llvm.mlir.constant(3 : i32) : i32
  %n8 = llvm.mlir.constant(8 : i32) : i32
  %n63 = llvm.mlir.constant(63 : i32) : i32
  %n64 = llvm.mlir.constant(64 : i32) : i32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %tx = nvvm.read.ptx.sreg.tid.x : i32
  %ty = nvvm.read.ptx.sreg.tid.y : i32
  %tz = nvvm.read.ptx.sreg.tid.z : i32
  %bx = nvvm.read.ptx.sreg.ctaid.x : i32
  %by = nvvm.read.ptx.sreg.ctaid.y : i32
  %bz = nvvm.read.ptx.sreg.ctaid.z : i32
  %t0 = llvm.mul %tz, %n2 : i32
  %t1 = llvm.add %t0, %ty : i32
  %t2 = llvm.mul %t1, %n8 : i32
  %thread = llvm.add %t2, %tx : i32
  %b0 = llvm.mul %bz, %n3 : i32
  %b1 = llvm.add %b0, %by : i32
  %b2 = llvm.mul %b1, %n2 : i32
  %block = llvm.add %b2, %bx : i32
  %i0 = llvm.mul %block, %n64 : i32
  %i = llvm.add %i0, %thread : i32
  %at = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %aty = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %atr = llvm.getelementptr %pr[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %x = llvm.load %at : !llvm.ptr<1> -> i32
  %y = llvm.load %aty : !llvm.ptr<1> -> i32
  %f = llvm.bitcast %x : i32 to f32
  %g = llvm.bitcast %y : i32 to f32
  %dynamic = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
  %slot = llvm.getelementptr %dynamic[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %m = llvm.sub %n63, %thread : i32
  %mirrored = llvm.getelementptr %dynamic[%m] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %nx = llvm.xor %thread, %one : i32
  %next = llvm.getelementptr %dynamic[%nx] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  {0}
  llvm.store %r, %atr : i32, !llvm.ptr<1>
  llvm.return
})",
                       tested.code);
}

/// Every pair of words that operations treat in a way of their own, and others.
std::pair<std::vector<uint32_t>, std::vector<uint32_t>> makeWords() {
  const uint32_t special[] = {
      0,          1,          31,         32,         33,         0x80000000,
      0xFFFFFFFF, 0x7FFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFF800001,
      0x00400000, 0x807FFFFF, 0x3F800000, 0xC2FC0000, 0x4F000000, 0x7F7FFFFF,
      0x00008000, 0x3F808000, 0x00018000, 0xC3160000};
  std::vector<uint32_t> xs, ys;
  for (uint32_t x : special) {
    for (uint32_t y : special) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  std::mt19937 random(7);
  while (xs.size() < kValues) {
    xs.push_back(random());
    // Near it, so that sums round.
    ys.push_back((xs.back() & 0x7FF00000) + random() % 0x1000000);
  }
  return {xs, ys};
}

const DeviceOperation *findEntry(llvm::StringRef name) {
  return llvm::find_if(getDeviceOperations(),
                       [&](const auto &entry) { return entry.name == name; });
}

bool isNan(uint32_t word) { return std::isnan(numberOf(word)); }

class Instructions : public testing::TestWithParam<Case> {};

/// Bit for bit, but for numbers that are none: PTX has one, and hosts keep what
/// came in.
TEST_P(Instructions, compute_what_ptx_says) {
  const Case &tested = GetParam();
  Device device(kernelOf(tested));
  ASSERT_TRUE(device.module) << device.errors;
  auto [xs, ys] = makeWords();
  ASSERT_EQ(xs.size(), kValues);
  bool mayKeep = findEntry(tested.entry)->as == EmulatedAs::Host;
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<Buffer> buffers;
    buffers.emplace_back("x", HOVA_EMULATION_INPUT, xs);
    buffers.emplace_back("y", HOVA_EMULATION_INPUT, ys);
    buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, 4 * kValues);
    Shape shape{kGrid, kBlock, 1024, seed,
                static_cast<hova_emulation_copies>(seed)};
    auto report = device.run("kernel", shape, buffers);
    ASSERT_STREQ(report.message, "");
    auto results = buffers.back().values<uint32_t>();
    for (unsigned i = 0; i < kValues; ++i) {
      unsigned thread = i % kThreads, lane = thread % 32;
      In in = {xs[i],           ys[i],         numberOf(xs[i]),
               numberOf(ys[i]), &xs[i - lane], &ys[i - lane],
               thread,          lane,          i / kThreads};
      uint32_t expected = tested.expected(in);
      if (mayKeep && isNan(expected) && isNan(results[i])) {
        continue;
      }
      expected = !mayKeep && isNan(expected) &&
                         llvm::StringRef(tested.entry).contains("approx")
                     ? kNan
                     : expected;
      ASSERT_EQ(results[i], expected)
          << std::hex << "x = " << xs[i] << ", y = " << ys[i] << std::dec
          << ", thread " << thread << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Instructions, testing::ValuesIn(kCases),
                         [](const auto &info) {
                           std::string name = info.param.entry;
                           for (char &c : name) {
                             c = std::isalnum(c) ? c : '_';
                           }
                           return name + "_" + std::to_string(info.index);
                         });

TEST(DeviceOperations, have_a_case_each) {
  llvm::StringSet<> tested;
  for (const Case &each : kCases) {
    tested.insert(each.entry);
  }
  for (const char *name : kElsewhere) {
    tested.insert(name);
  }
  for (const DeviceOperation &operation : getDeviceOperations()) {
    EXPECT_TRUE(tested.erase(operation.name)) << operation.name.str();
  }
  for (const auto &rest : tested) {
    ADD_FAILURE() << rest.getKey().str() << " is not in the table";
  }
}

} // namespace

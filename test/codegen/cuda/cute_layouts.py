# ===- cute_layouts.py - Who holds which element, as CuTe says it ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Prints Inputs/cute-layouts.txt anew: cute_layouts.py FOLDER > Inputs/cute-layouts.txt.

FOLDER is empty or has the packages already. It takes pip, g++ and no GPU: the layouts of CuTe
are constants of C++, which a program of the host prints. What that program says of each lane
and element is all that is kept; no text of CuTe's is.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

# CuTe's headers, those of libcu++ that they include, and those of CUDA's runtime.
PACKAGES = ["nvidia-cutlass==4.2.0.0", "nvidia-cuda-cccl==13.3.5.0.6", "nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37"]
INCLUDES = ["cutlass_library/source/include", "nvidia/cu13/include/cccl", "nvidia/cu13/include"]

PROGRAM = r"""
#include <cute/layout.hpp>
#include <cute/swizzle_layout.hpp>
#include <cute/atom/copy_traits_sm75.hpp>
#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
#include <cstdio>
using namespace cute;
using bf16 = cutlass::bfloat16_t;
using Mma = MMA_Traits<SM80_16x8x16_F32BF16BF16F32_TN>;

// Lane and value to a place in a matrix whose first mode has `extent` elements.
template <class Layout> void fragment(const char *name, Layout layout, int values, int extent) {
  for (int lane = 0; lane < 32; ++lane) {
    std::printf("%s %d:", name, lane);
    for (int value = 0; value < values; ++value) {
      int at = layout(lane, value);
      std::printf(" %d,%d", at % extent, at / extent);
    }
    std::printf("\n");
  }
}

// The same of the 128 threads of a warp group.
template <class Layout> void group(const char *name, Layout layout, int values) {
  for (int thread = 0; thread < 128; ++thread) {
    std::printf("%s %d:", name, thread);
    for (int value = 0; value < values; ++value) {
      int at = layout(thread, value);
      std::printf(" %d,%d", at % 64, at / 64);
    }
    std::printf("\n");
  }
}

// Of an operand of wgmma that is K-major: at which byte each chunk of eight elements of 24 rows lies, and of its descriptor the way of
// exchange and the distance of groups of rows in units of 16 bytes.
template <class Atom> void operand(const char *rows, const char *descriptor, Atom atom, int columns) {
  auto layout = as_position_independent_swizzle_layout(tile_to_shape(atom, make_shape(Int<24>{}, size<1>(atom))));
  for (int row = 0; row < 24; ++row) {
    std::printf("%s %d:", rows, row);
    for (int column = 0; column < columns; column += 8) {
      std::printf(" %d", int(layout(row, column)) * 2);
    }
    std::printf("\n");
  }
  auto plain = tile_to_shape(atom, make_shape(Int<64>{}, size<1>(atom)));
  auto step = local_tile(make_tensor(make_smem_ptr<bf16>((void *)nullptr), plain), make_shape(Int<64>{}, Int<16>{}), make_coord(0, 0));
  auto bits = SM90::GMMA::make_gmma_desc<SM90::GMMA::Major::K>(step);
  std::printf("%s 0: %d %d\n", descriptor, int(bits.bitfield.layout_type_), int(bits.bitfield.stride_byte_offset_));
}

// Which element of which row a lane has in each half of each register; lane i gives row i.
template <class Traits> void matrices(const char *name) {
  for (int lane = 0; lane < 32; ++lane) {
    std::printf("%s %d:", name, lane);
    for (int bit = 0; bit < 128; bit += 16) {
      int at = typename Traits::DstLayout{}(lane, bit), row = at / 128;
      static_assert(decltype(typename Traits::SrcLayout{}(Int<1>{}, Int<0>{}))::value == 128);
      std::printf(" %d,%d,%d", row / 8, row % 8, at % 128 / 16);
    }
    std::printf("\n");
  }
}

// At which chunk of 16 bytes of its row each chunk of eight elements lies.
template <class Layout> void chunks(const char *name, Layout layout, int columns) {
  for (int row = 0; row < 8; ++row) {
    std::printf("%s %d:", name, row);
    for (int column = 0; column < columns; column += 8) {
      int at = layout(row, column);
      if (at / columns != row || at % 8) {
        std::printf(" outside");
      }
      std::printf(" %d", at % columns / 8);
    }
    std::printf("\n");
  }
}

int main() {
  fragment("A", Mma::ALayout{}, 8, 16);
  fragment("B", Mma::BLayout{}, 4, 8);
  fragment("C", Mma::CLayout{}, 4, 16);
  matrices<Copy_Traits<SM75_U32x4_LDSM_N>>("ldmatrix");
  matrices<Copy_Traits<SM75_U16x8_LDSM_T>>("ldmatrix.trans");
  // Rows of 128 and of 64 bytes. The atom of CuTe's own kernels for sm_80 is the same as the first.
  auto wide = as_position_independent_swizzle_layout(GMMA::Layout_K_SW128_Atom<bf16>{});
  auto sm80 = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  for (int i = 0; i < 8 * 64; ++i) {
    if (wide(i % 8, i / 8) != sm80(i % 8, i / 8)) {
      return 1;
    }
  }
  chunks("rows-of-64", wide, 64);
  chunks("rows-of-32", as_position_independent_swizzle_layout(GMMA::Layout_K_SW64_Atom<bf16>{}), 32);
  group("group-sums", SM90::GMMA::CLayout_64x32{}, 16);
  group("group-left", SM90::GMMA::ALayout_64x16{}, 8);
  operand("operand-of-64", "descriptor-of-64", GMMA::Layout_K_SW128_Atom<bf16>{}, 64);
  operand("operand-of-32", "descriptor-of-32", GMMA::Layout_K_SW64_Atom<bf16>{}, 32);
}
"""

HEAD = f"""\
# Who holds which element, printed by cute_layouts.py from the layouts of CuTe (BSD-3-Clause).
# {" ".join(PACKAGES)}
# A, B, C: of mma.sync m16n8k16 in bf16, each lane's values as row,k; column,k; row,column.
# ldmatrix.x4: each lane's halves of registers, the low one first, as matrix,row,element.
# group-sums, group-left: of wgmma m64n32k16, each thread's sums as row,column, and the halves of its left operand as row,k.
# operand-of-N, descriptor-of-N: of operands in shared memory with rows of N elements of 16 bits, where each chunk of 16 bytes begins,
# and the way of exchange and the distance of groups of eight rows, in units of 16 bytes, that a descriptor has.
# rows-of-N: for rows of N elements of 16 bits, where in its row each chunk of 16 bytes lies.
"""


def main(folder: Path) -> None:
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *PACKAGES]
    subprocess.run(download, check=True)
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)
    (folder / "print.cpp").write_text(PROGRAM, encoding="utf-8")
    includes = [flag for name in INCLUDES for flag in ("-I", str(folder / name))]
    subprocess.run(["g++", "-std=c++17", "-w", *includes, str(folder / "print.cpp"), "-o", str(folder / "print")], check=True)
    lines = subprocess.run([folder / "print"], capture_output=True, text=True, check=True).stdout.splitlines(keepends=True)
    # On a host there is no address of shared memory, of which CuTe complains; no address is printed.
    print(HEAD + "".join(line for line in lines if not line.startswith("ERROR: cast_smem_ptr_to_uint")), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

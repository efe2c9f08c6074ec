//===- PlacementTest.cpp - Rows of placements, as images are moved --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every placement against the sentence that defines it: an image of row numbers
// is rolled, cut and joined here, one step after the other. Sides, shifts and
// blocks all differ, so that no two of them can be taken for each other.

#include "dialect/Placement.h"
#include "dialect/HovaDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace mlir;
using namespace hova;

namespace {

using Image = std::vector<std::vector<int32_t>>;
using Rows = std::vector<int32_t>;

constexpr int64_t kBatch = 3;

class PlacementTest : public testing::Test {
protected:
  PlacementTest() { context.loadDialect<HovaDialect>(); }

  template <typename T = PlacementAttrInterface> T parse(llvm::StringRef text) {
    return cast<T>(parseAttribute(text, &context));
  }

  static Rows rowsOf(PlacementAttrInterface placement,
                     ArrayRef<int64_t> source) {
    SmallVector<int32_t> rows = placement.getRows(source);
    return Rows(rows.begin(), rows.end());
  }

  MLIRContext context;
};

/// The tokens of a batch entry as an image of their numbers.
Image imageOf(int64_t entry, int64_t height, int64_t width) {
  Image image(height, Rows(width));
  int32_t next = static_cast<int32_t>(entry * height * width);
  for (Rows &line : image) {
    std::iota(line.begin(), line.end(), next);
    next += static_cast<int32_t>(width);
  }
  return image;
}

/// The image moved up and to the left; what leaves it comes in again.
Image roll(Image image, int64_t up, int64_t left) {
  std::rotate(image.begin(), image.begin() + up, image.end());
  for (Rows &line : image) {
    std::rotate(line.begin(), line.begin() + left, line.end());
  }
  return image;
}

Image transpose(const Image &image) {
  Image result(image.front().size());
  for (const Rows &line : image) {
    for (size_t x = 0; x < line.size(); ++x) {
      result[x].push_back(line[x]);
    }
  }
  return result;
}

/// The pieces of an image, line by line of pieces.
std::vector<Image> cut(const Image &image, size_t height, size_t width) {
  std::vector<Image> pieces;
  for (auto line = image.begin(); line != image.end(); line += height) {
    for (size_t left = 0; left < line->size(); left += width) {
      Image &piece = pieces.emplace_back();
      for (auto row = line; row != line + height; ++row) {
        piece.emplace_back(row->begin() + left, row->begin() + left + width);
      }
    }
  }
  return pieces;
}

void append(Rows &rows, const Image &image) {
  for (const Rows &line : image) {
    rows.insert(rows.end(), line.begin(), line.end());
  }
}

TEST_F(PlacementTest, windows_are_pieces_of_a_rolled_image) {
  Rows expected;
  for (int64_t entry = 0; entry < kBatch; ++entry) {
    for (const Image &window : cut(roll(imageOf(entry, 4, 15), 1, 3), 2, 5)) {
      append(expected, window);
    }
  }
  auto window = parse("#hova.window<2x5, shift 1x3, grid 4x15>");
  EXPECT_EQ(rowsOf(window, {kBatch, 60, 7}), expected);
}

/// Tokens of a window are of one region where the roll moved them together.
void expectRegions(WindowAttr window) {
  int64_t height = window.getGridHeight(), width = window.getGridWidth();
  Image wrapped(height, Rows(width));
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      wrapped[y][x] =
          2 * (y < window.getShiftHeight()) + (x < window.getShiftWidth());
    }
  }
  wrapped = roll(wrapped, window.getShiftHeight(), window.getShiftWidth());
  int64_t number = 0;
  for (const Image &piece :
       cut(wrapped, window.getHeight(), window.getWidth())) {
    Rows tokens;
    append(tokens, piece);
    int64_t kind = window.classOf(number);
    ASSERT_LT(kind, window.countClasses());
    for (size_t i = 0; i < tokens.size(); ++i) {
      for (size_t j = 0; j < tokens.size(); ++j) {
        EXPECT_EQ(window.regionOf(kind, i) == window.regionOf(kind, j),
                  tokens[i] == tokens[j])
            << "window " << number << ", tokens " << i << " and " << j;
      }
    }
    ++number;
  }
}

TEST_F(PlacementTest, regions_are_what_was_together_before_the_roll) {
  for (llvm::StringRef text : {"#hova.window<3x5, shift 1x3, grid 6x20>",
                               "#hova.window<3x5, shift 2x1, grid 12x10>",
                               "#hova.window<3x5, shift 0x2, grid 3x20>",
                               "#hova.window<3x5, shift 2x0, grid 12x5>"}) {
    SCOPED_TRACE(text.str());
    expectRegions(parse<WindowAttr>(text));
  }
}

TEST_F(PlacementTest, merged_blocks_stand_column_by_column) {
  Rows expected;
  for (int64_t entry = 0; entry < kBatch; ++entry) {
    for (const Image &block : cut(imageOf(entry, 4, 15), 2, 5)) {
      append(expected, transpose(block));
    }
  }
  auto merge = parse("#hova.merge<2x5, grid 4x15>");
  EXPECT_EQ(rowsOf(merge, {kBatch, 60, 7}), expected);
}

TEST_F(PlacementTest, the_inverse_brings_every_row_back) {
  auto window = parse("#hova.window<2x5, shift 1x3, grid 4x15>");
  Rows there = rowsOf(window, {kBatch, 60, 7});
  Rows back = rowsOf(inverseOf(window), {6 * kBatch, 10, 7});
  ASSERT_EQ(there.size(), back.size());
  for (size_t row = 0; row < back.size(); ++row) {
    EXPECT_EQ(there[back[row]], static_cast<int32_t>(row));
  }
}

TEST_F(PlacementTest, a_chain_applies_all_of_its_placements) {
  auto first = parse("#hova.window<2x5, shift 1x3, grid 4x15>");
  auto second = parse("#hova.window<4x3, shift 3x2, grid 4x15>");
  PlacementAttrInterface chain = composePlacements(inverseOf(first), second);
  Rows back = rowsOf(inverseOf(first), {6 * kBatch, 10, 7});
  Rows expected;
  for (int32_t row : rowsOf(second, {kBatch, 60, 7})) {
    expected.push_back(back[row]);
  }
  EXPECT_EQ(rowsOf(chain, {6 * kBatch, 10, 7}), expected);
}

TEST_F(PlacementTest, a_placement_and_its_inverse_cancel) {
  auto window = parse("#hova.window<2x5, shift 1x3, grid 4x15>");
  EXPECT_FALSE(composePlacements(window, inverseOf(window)));
  EXPECT_FALSE(composePlacements(inverseOf(window), window));
  EXPECT_TRUE(composePlacements(window, window));
}

} // namespace

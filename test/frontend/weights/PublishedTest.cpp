//===- PublishedTest.cpp - The tables of papers, row by row ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The figures stand in the examples; the ones here are written down again from
// the papers, so that an example cannot drop a row or mend a digit.
//
//===----------------------------------------------------------------------===//

#include "tools/inspect/Published.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hova;
using namespace hova::frontend;

namespace {

struct PrintedRow {
  const char *name;
  const char *parameters;
  const char *macs;
};

struct PrintedTable {
  const char *name;
  const char *model;
  const char *source;
  std::vector<PrintedRow> rows;
  /// The rows whose parameters are known to be others.
  std::set<std::string> differing = {};
};

const char *const horizontalVertical =
    "Yu and Zhang, Horizontal and Vertical Attention in Transformers";

const PrintedTable tables[] = {
    {"vanilla",
     "vanilla_hv",
     horizontalVertical,
     {{"WMT-16", "46.7M", "2.9G"},
      {"WMT-16 +Hor", "47.1M", "3.0G"},
      {"WMT-16 +Ver", "50.1M", "3.1G"},
      {"WMT-16 +Hor+Ver", "50.7M", "3.2G"},
      {"WMT-17", "55.8M", "3.5G"},
      {"WMT-17 +Hor", "56.4M", "3.6G"},
      {"WMT-17 +Ver", "59.2M", "3.7G"},
      {"WMT-17 +Hor+Ver", "59.8M", "3.8G"}},
     {"WMT-16 +Hor"}},
    {"transformer",
     "transformer_base",
     "Vaswani et al., Attention Is All You Need, table 3",
     {{"base", "65M", nullptr}, {"big", "213M", nullptr}},
     {"base", "big"}},
    {"lm",
     "lm",
     "Tay et al., OmniNet: Omnidirectional Representations from Transformers, "
     "models of about 50M parameters",
     {{"Transformer", "50M", nullptr},
      {"Performer", "50M", nullptr},
      {"RealFormer", "50M", nullptr}}},
    {"omninet_lm",
     "omninet_lm",
     "Tay et al., OmniNet: Omnidirectional Representations from Transformers, "
     "language models",
     {{"OmniNet_T", "50M", nullptr},
      {"OmniNet_P", "50M", nullptr},
      {"OmniNet_T large", "0.1B", nullptr}}},
    {"swin_t",
     "swin_t",
     horizontalVertical,
     {{"Swin-T", "26.3M", "4.1G"},
      {"Swin-T +Hor", "26.4M", "4.1G"},
      {"Swin-T +Ver", "27.8M", "4.3G"},
      {"Swin-T +Hor+Ver", "28.0M", "4.4G"}}},
    {"t2t_vit_14",
     "t2t_vit_14",
     horizontalVertical,
     {{"T2T-ViT-14", "20.1M", "4.0G"},
      {"T2T-ViT-14 +Hor", "20.5M", "4.2G"},
      {"T2T-ViT-14 +Ver", "21.6M", "4.3G"},
      {"T2T-ViT-14 +Hor+Ver", "22.0M", "4.4G"}}},
    {"vit_b16",
     "vit_b16",
     "torchvision, vit_b_16",
     {{"ImageNet-1K", "86567656", "17.56G"}}},
    {"vit_b32",
     "vit_b32",
     "torchvision, vit_b_32",
     {{"ImageNet-1K", "88224232", "4.41G"}}},
    {"swin_t_of_a_library",
     "swin_t",
     "torchvision, swin_t",
     {{"ImageNet-1K", "28288354", "4.49G"}}},
    {"swin_t_of_its_authors",
     "swin_t",
     "Liu et al., Swin Transformer, models of the authors",
     {{"Swin-T", "28M", "4.5G"}}},
    {"swinv2_t",
     "swinv2_t",
     "Liu et al., Swin Transformer V2, models of the authors",
     {{"SwinV2-T, 256 x 256, window 8", "28M", "5.9G"},
      {"SwinV2-T, 256 x 256, window 16", "28M", "6.6G"}}},
    {"swinv2_t_of_a_library",
     "swinv2_t",
     "timm",
     {{"swinv2_tiny_window8_256", "28.35M", nullptr},
      {"swinv2_tiny_window16_256", "28.35M", nullptr}}},
    {"t2t_vit_14_of_its_authors",
     "t2t_vit_14",
     "Yuan et al., Tokens-to-Token ViT",
     {{"T2T-ViT-14", "21.5M", "4.8G"}}},
    {"tnt_s",
     "tnt_s",
     "Han et al., Transformer in Transformer",
     {{"TNT-S", "23.8M", "5.2G"}, {"TNT-S, first version", "23.8M", "5.2G"}}},
    {"bert_base",
     "bert_base",
     "transformers, BertModel",
     {{"bert-base-uncased", "109.48M", nullptr}}},
    {"minilm_l6",
     "minilm_l6",
     "transformers, BertModel",
     {{"all-MiniLM-L6-v2", "22.71M", nullptr}}},
};

/// The figures of one quantity: printed ones, or none.
void expectFigure(const inspect::PublishedComparison &row, const char *quantity,
                  const char *printed, bool agrees) {
  SCOPED_TRACE(row.row->name + " " + quantity);
  size_t found = 0;
  for (const inspect::FigureComparison &figure : row.figures) {
    if (figure.quantity == quantity) {
      ++found;
      EXPECT_EQ(figure.published->text, printed);
      EXPECT_EQ(figure.agrees(), agrees) << figure.ours;
      EXPECT_EQ(figure.isKnown(), !agrees);
      // A reason stands where the figure differs, and nowhere else.
      EXPECT_EQ(figure.published->differs.empty(), agrees);
    }
  }
  EXPECT_EQ(found, printed ? 1u : 0u);
}

class Tables : public testing::TestWithParam<PrintedTable> {};

TEST_P(Tables, are_reproduced) {
  const PrintedTable &table = GetParam();
  ModelOptions options;
  options.path = std::string(HOVA_MODELS "/") + table.model + ".json";
  Model model;
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  ASSERT_EQ(readModel(options, model, errors), ModelStatus::Ok) << messages;
  mlir::MLIRContext context;
  std::vector<inspect::PublishedComparison> rows;
  ASSERT_TRUE(inspect::comparePublished(model, options, context, rows, errors))
      << messages;
  llvm::erase_if(rows, [&](const inspect::PublishedComparison &row) {
    return row.table->source != table.source;
  });
  ASSERT_EQ(rows.size(), table.rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].row->name, table.rows[i].name);
    expectFigure(rows[i], "parameters", table.rows[i].parameters,
                 !table.differing.count(table.rows[i].name));
    expectFigure(rows[i], "macs", table.rows[i].macs, true);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tables, testing::ValuesIn(tables),
                         [](const auto &info) { return info.param.name; });

std::string printed(const std::string &text, int decimals, int thousands,
                    bool binary, int64_t count) {
  FigureSpec figure;
  figure.text = text;
  figure.decimals = decimals;
  figure.thousands = thousands;
  return inspect::printedLike(figure, binary, count);
}

TEST(Published, figures_are_rounded_as_they_are_printed) {
  EXPECT_EQ(printed("1.0M", 1, 2, false, 1049999), "1.0M");
  EXPECT_EQ(printed("1.0M", 1, 2, false, 1050000), "1.1M");
  EXPECT_EQ(printed("1.0M", 1, 2, true, 1049999), "1.0M");
  EXPECT_EQ(printed("1.0M", 1, 2, true, 1150000), "1.1M");
  EXPECT_EQ(printed("0.1B", 1, 3, false, 106313008), "0.1B");
  EXPECT_EQ(printed("0.05G", 2, 3, false, 46000000), "0.05G");
  EXPECT_EQ(printed("2K", 0, 1, true, 1536), "2K");
  EXPECT_EQ(printed("17", 0, 0, false, 18), "18");
}

/// A product of 4 x n numbers with n biases, and what is published of it.
std::string linear(const std::string &published) {
  return R"({"hova": 1, "name": "m", "parameters": {"n": 3, "batch": 1},
 "inputs": {"x": {"shape": ["batch", 4]}},
 "layers": [{"name": "a", "op": "linear", "input": "x", "width": "n"}],
 "outputs": {"y": "a"}, "published": [)" +
         published + "]}";
}

/// What the rows compare, as "row quantity published ours".
std::vector<std::string>
compared(const std::string &text,
         const std::vector<ParameterOverride> &overrides = {}) {
  ModelOptions options;
  options.path = "m.json";
  options.text = text;
  options.overrides = overrides;
  Model model;
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  EXPECT_EQ(readModel(options, model, errors), ModelStatus::Ok) << messages;
  mlir::MLIRContext context;
  std::vector<inspect::PublishedComparison> rows;
  if (!inspect::comparePublished(model, options, context, rows, errors)) {
    return {messages};
  }
  std::vector<std::string> lines;
  for (const inspect::PublishedComparison &row : rows) {
    for (const inspect::FigureComparison &figure : row.figures) {
      lines.push_back(row.row->name + " " + figure.quantity + " " +
                      figure.published->text + " " + figure.ours);
    }
  }
  return lines;
}

TEST(Published, overrides_choose_the_variant) {
  std::string text = linear(R"({"source": "s", "rows": [
    {"row": "three", "parameters": "15", "macs": "12"},
    {"row": "five", "when": {"n": 5}, "parameters": "24"}]})");
  using Lines = std::vector<std::string>;
  EXPECT_EQ(compared(text), (Lines{"three parameters 15 15", "three macs 12 12",
                                   "five parameters 24 25"}));
  EXPECT_EQ(compared(text, {{"n", "5"}}), Lines{"five parameters 24 25"});
  EXPECT_EQ(compared(text, {{"n", "3"}}),
            (Lines{"three parameters 15 15", "three macs 12 12"}));
  EXPECT_EQ(compared(text, {{"n", "5"}, {"batch", "2"}}), Lines{});
}

TEST(Published, a_variant_that_is_no_model_is_an_error) {
  std::vector<std::string> messages = compared(linear(
      R"({"source": "s", "rows": [{"row": "none", "when": {"n": 0}, "macs": "1"}]})"));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("\"width\" must be at least 1"), std::string::npos)
      << messages[0];
}

/// A norm of 16 rows of 8 numbers, and a network that no input reaches.
TEST(Published, ways_to_count_differ) {
  std::string text = R"({"hova": 1, "name": "m",
 "inputs": {"x": {"shape": [1, 16, 8]}},
 "layers": [
   {"name": "n", "op": "layer_norm", "input": "x"},
   {"name": "a", "op": "multi_head_attention", "input": "n", "heads": 2, "grid_height": 4, "window": 2,
    "relative_bias": "continuous", "relative_bias_hidden": 5}],
 "outputs": {"y": "a"}, "published": [)";
  std::vector<std::string> counts;
  for (const char *macs : {"all", "linear", "with_norms"}) {
    std::vector<std::string> lines =
        compared(text + R"({"source": "s", "counts": {"macs": ")" + macs +
                 R"("}, "rows": [{"row": "r", "macs": "1"}]}]})");
    ASSERT_EQ(lines.size(), 1u);
    counts.push_back(lines[0].substr(lines[0].rfind(' ') + 1));
  }
  int64_t projections = 4 * 16 * 8 * 8, attention = 2 * 16 * 4 * 8;
  int64_t network = 9 * (2 * 5 + 5 * 2), norms = 16 * 8;
  EXPECT_EQ(counts[0], std::to_string(projections + attention + network));
  EXPECT_EQ(counts[1], std::to_string(projections + network));
  EXPECT_EQ(counts[2], std::to_string(projections + attention + norms));
}

} // namespace

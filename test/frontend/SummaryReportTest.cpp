//===- SummaryReportTest.cpp - What summary and check report --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "tools/inspect/Summary.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hova;
using namespace hova::frontend;

namespace {

/// The counts of an example.
inspect::Summary summarize(const char *name,
                           const std::vector<ParameterOverride> &set = {}) {
  ModelOptions options;
  options.path = std::string(HOVA_MODELS "/") + name + ".json";
  options.overrides = set;
  Model model;
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  if (readModel(options, model, errors) != ModelStatus::Ok) {
    ADD_FAILURE() << messages;
    return {};
  }
  mlir::MLIRContext context;
  return inspect::summarize(*model.program, context);
}

TEST(Summary, counts_tables_and_features_as_frozen) {
  EXPECT_EQ(summarize("t2t_vit_14").frozen, 197 * 384 + 2 * 32 * 64);
  EXPECT_EQ(summarize("m2").frozen, 55 * 512);
}

/// What attention to several layers costs, with the head of pre-training.
TEST(Summary, has_the_overheads_of_omnidirectional_attention) {
  const ParameterOverride classes{"classes", "18291"};
  auto macs = [](const inspect::Summary &summary) {
    return static_cast<double>(summary.linearMacs + summary.attentionMacs);
  };
  struct Overhead {
    const char *partition;
    double b32, b16;
  };
  double vit32 = macs(summarize("vit_b32", {classes}));
  double vit16 = macs(summarize("vit_b16", {classes}));
  for (const Overhead &overhead :
       {Overhead{"1", 1.003, 0.973}, Overhead{"2", 1.002, 0.986},
        Overhead{"4", 1.168, 1.159}, Overhead{"6", 1.223, 1.216},
        Overhead{"12", 1.278, 1.273}}) {
    SCOPED_TRACE(overhead.partition);
    std::vector<ParameterOverride> set = {classes,
                                          {"partition", overhead.partition}};
    EXPECT_NEAR(macs(summarize("omninet_b32", set)) / vit32, overhead.b32,
                0.0005);
    EXPECT_NEAR(macs(summarize("omninet_b16", set)) / vit16, overhead.b16,
                0.0005);
  }
}

TEST(Summary, is_the_json_of_the_contract) {
  ModelOptions options;
  options.path = HOVA_MODELS "/lecture_mha.json";
  std::string text, messages;
  llvm::raw_string_ostream out(text), errors(messages);
  ASSERT_EQ(inspect::runSummary(options, inspect::SummaryKind::Layers,
                                /*json=*/true, out, errors),
            0);
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  ASSERT_TRUE(bool(parsed));
  const llvm::json::Object &root = *parsed->getAsObject();
  EXPECT_EQ(root.getString("model"), "lecture_mha");
  EXPECT_EQ(root.getObject("parameters")->getInteger("trainable"), 180);
  EXPECT_EQ(root.getObject("parameters")->getInteger("frozen"), 0);
  EXPECT_EQ(root.getObject("parameters")->getArray("tensors")->size(), 4u);
  EXPECT_EQ(*root.getInteger("flops"),
            2 * (*root.getObject("macs")->getInteger("linear") +
                 *root.getObject("macs")->getInteger("attention")));
  EXPECT_EQ(root.getArray("inputs")->size(), 3u);
  const llvm::json::Object &layer =
      *(*root.getArray("layers"))[0].getAsObject();
  EXPECT_EQ(layer.getString("path"), "attn");
  EXPECT_EQ(layer.getString("kind"), "multi_head_attention");
  EXPECT_EQ(layer.getInteger("parameters"), 180);
  EXPECT_EQ(layer.getArray("output_shape")->size(), 3u);
}

TEST(Check, has_the_exit_codes_of_the_contract) {
  std::string text, messages;
  llvm::raw_string_ostream out(text), errors(messages);
  ModelOptions options;
  options.path = HOVA_MODELS "/vit_b32.json";
  EXPECT_EQ(inspect::runCheck(options, /*json=*/false, out, errors), 0)
      << messages;
  options.overrides = {{"patch", "33"}};
  EXPECT_EQ(inspect::runCheck(options, /*json=*/false, out, errors), 1);
  EXPECT_NE(messages.find("patch 33 does not divide an image of 224 x 224"),
            std::string::npos)
      << messages;
  options.path = "/no/such/file.json";
  EXPECT_EQ(inspect::runCheck(options, /*json=*/false, out, errors), 74);
}

} // namespace

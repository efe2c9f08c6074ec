//===- SummaryTest.cpp - The counts of the papers -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Yu and Zhang print parameters and MACs of dense layers; the rows below are
// what their convention gives exactly. The other models are counted as their
// libraries count them.
//
//===----------------------------------------------------------------------===//

#include "tools/inspect/Summary.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hova;
using namespace hova::frontend;

namespace {

struct Row {
  const char *name;
  const char *model;
  std::vector<ParameterOverride> set;
  int64_t trainable;
  /// 0: not published.
  int64_t dense;
  int64_t linear;
  int64_t attention;
};

constexpr int64_t squared(int64_t x) { return x * x; }

class Rows : public testing::TestWithParam<Row> {};

TEST_P(Rows, have_the_counts_of_the_papers) {
  const Row &row = GetParam();
  ModelOptions options;
  options.path = std::string(HOVA_MODELS "/") + row.model + ".json";
  options.overrides = row.set;
  Model model;
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  ASSERT_EQ(readModel(options, model, errors), ModelStatus::Ok) << messages;
  mlir::MLIRContext context;
  inspect::Summary summary = inspect::summarize(*model.program, context);
  EXPECT_EQ(summary.trainable, row.trainable);
  EXPECT_EQ(summary.linearMacs, row.linear);
  EXPECT_EQ(summary.attentionMacs, row.attention);
  if (row.dense > 0) {
    EXPECT_EQ(summary.dense, row.dense);
  }
}

const ParameterOverride hor{"horizontal", "true"}, ver{"vertical", "true"};
const ParameterOverride wmt17{"vocab", "28200"}, hundred{"classes", "100"};
// Two token performers, 14 layers.
constexpr int64_t t2tAttention =
    (3136 + 784) * (4 * 32 * 64 + 2 * 32) + 14 * 2 * squared(197) * 384;
// Words of 7 x 7 pixels, the first sentences, then layers of words, of what is
// handed up, and of sentences.
constexpr int64_t tntLinear =
    3136 * 147 * 24 + 13 * 196 * squared(384) +
    12 * (196 * 16 * 12 * squared(24) + 197 * 12 * squared(384)) + 384 * 1000;
constexpr int64_t tntAttention =
    12 * 2 * (196 * squared(16) * 24 + squared(197) * 384);
const Row rows[] = {
    {"wmt16", "vanilla_hv", {}, 49018880, 48986112, 3133145088, 75497472},
    {"wmt16_hor",
     "vanilla_hv",
     {hor},
     49683602,
     49650834,
     3209232384,
     75497472},
    {"wmt16_ver",
     "vanilla_hv",
     {ver},
     52567040,
     52534272,
     3359637504,
     75497472},
    {"wmt16_hor_ver",
     "vanilla_hv",
     {hor, ver},
     53231762,
     53198994,
     3435724800,
     75497472},
    {"wmt17", "vanilla_hv", {wmt17}, 58542080, 58509312, 3742629888, 75497472},
    {"wmt17_hor",
     "vanilla_hv",
     {wmt17, hor},
     59206802,
     59174034,
     3818717184,
     75497472},
    {"wmt17_ver",
     "vanilla_hv",
     {wmt17, ver},
     62090240,
     62057472,
     3969122304,
     75497472},
    {"wmt17_hor_ver",
     "vanilla_hv",
     {wmt17, hor, ver},
     62754962,
     62722194,
     4045209600,
     75497472},
    // Every level of a decoder layer counts its projection of the queries.
    {"m2", "m2", {}, 38411264, 0, 1242163200, 24268800},
    {"m2_hor", "m2", {hor}, 38743625, 0, 1242163200 + 25758720, 24268800},
    {"m2_ver", "m2", {ver}, 40185344, 0, 1242163200 + 76677120, 24268800},
    {"m2_hor_ver",
     "m2",
     {hor, ver},
     40517705,
     0,
     1242163200 + 25758720 + 76677120,
     24268800},
    {"vit_b16", "vit_b16", {}, 86567656, 0, 16848500736, 715327488},
    {"vit_b32", "vit_b32", {}, 88224232, 0, 4363106304, 46080000},
    {"swin_t", "swin_t", {}, 28288354, 28240264, 4350425088, 140141568},
    {"swin_t_100", "swin_t", {hundred}, 27596254, 0, 4349733888, 140141568},
    {"swin_t_hor",
     "swin_t",
     {hundred, hor},
     27750250,
     0,
     4442684928,
     140141568},
    {"swin_t_ver",
     "swin_t",
     {hundred, ver},
     29218078,
     0,
     4609846272,
     140141568},
    {"swin_t_hor_ver",
     "swin_t",
     {hundred, hor, ver},
     29372074,
     0,
     4702797312,
     140141568},
    {"swinv2_t", "swinv2_t", {}, 28347154, 0, 5700615168, 239075328},
    {"swinv2_t_16",
     "swinv2_t",
     {{"window", "16"}},
     28347154,
     0,
     5742066688,
     918552576},
    {"bert_base", "bert_base", {}, 109482240, 0, 10872225792, 301989888},
    {"lm", "lm", {}, 49653040, 0, 8763998208, 402653184},
    // No features but the columns of the heads: phi(K)^T V, its product with
    // phi(Q) and both denominators.
    {"lm_performer",
     "lm",
     {{"attention", "performer"}},
     49653040,
     0,
     8763998208,
     6 * 2 * 256 * 512 * (64 + 1)},
    // Four blocks are dense.
    {"lm_bigbird",
     "lm",
     {{"attention", "bigbird"}},
     49653040,
     0,
     8763998208,
     402653184},
    {"lm_realformer",
     "lm",
     {{"attention", "realformer"}},
     49653040,
     0,
     8763998208,
     402653184},
    // 1001 rows and 1001 keys; phi(K)^T V, its product with phi(Q) and both
    // denominators.
    {"lra_text",
     "lra",
     {},
     3486722,
     0,
     4 * 1001 * 12 * squared(256) + 256 * 1024 + 2 * 1024,
     4 * 2 * squared(1001) * 256},
    {"lra_text_performer",
     "lra",
     {{"attention", "performer"}},
     3486722,
     0,
     4 * 1001 * 12 * squared(256) + 256 * 1024 + 2 * 1024,
     4 * 2 * 1001 * 256 * (64 + 1)},
    // 16 sums of 1001 tokens for keys and for values, and 16 keys.
    {"lra_text_linformer",
     "lra",
     {{"attention", "linformer"}},
     3486722 + 4 * 1001 * 16,
     0,
     4 * 1001 * (12 * squared(256) + 2 * 16 * 256) + 256 * 1024 + 2 * 1024,
     4 * 2 * 1001 * 16 * 256},
    {"lra_retrieval_linformer",
     "lra",
     {{"task", "retrieval"}, {"attention", "linformer"}},
     1087618 + 4 * 4000 * 16,
     0,
     2 * 4 * 4000 * (12 * squared(128) + 2 * 16 * 128) + 256 * 512 + 512 * 256 +
         256 * 2,
     2 * 4 * 2 * 4000 * 16 * 128},
    // The fourth layer attends to three states of 1001 tokens.
    {"lra_text_omni_linformer",
     "lra",
     {{"omni", "linformer"}},
     3486722 + 3 * 1001 * 16,
     0,
     (3 + 3) * 1001 * 12 * squared(256) + 2 * 3 * 1001 * 16 * 256 + 256 * 1024 +
         2 * 1024,
     3 * 2 * squared(1001) * 256 + 2 * 3 * 1001 * 16 * 256},
    // Pairs of whole blocks of 64 tokens: those of the two ends with all, of
    // their neighbours with four and three random ones, of others with five and
    // three.
    {"lra_text_bigbird",
     "lra",
     {{"attention", "bigbird"}},
     3486722,
     0,
     4 * 1001 * 12 * squared(256) + 256 * 1024 + 2 * 1024,
     4 * 2 * 256 * squared(64) * (2 * 16 + 2 * 7 + 12 * 8)},
    {"lra_retrieval_bigbird",
     "lra",
     {{"task", "retrieval"}, {"attention", "bigbird"}},
     1087618,
     0,
     2 * 4 * 4000 * 12 * squared(128) + 256 * 512 + 512 * 256 + 256 * 2,
     2 * 4 * 2 * 128 * squared(64) * (2 * 63 + 2 * 7 + 59 * 8)},
    {"lra_listops_bigbird",
     "lra",
     {{"task", "listops"}, {"attention", "bigbird"}},
     8948746,
     0,
     4 * 2001 * 8 * squared(512) + 512 * 1024 + 1024 * 10,
     4 * 2 * 512 * squared(64) * (2 * 32 + 2 * 7 + 28 * 8)},
    // Both towers, without a class token.
    {"lra_retrieval",
     "lra",
     {{"task", "retrieval"}},
     1087618,
     0,
     2 * 4 * 4000 * 12 * squared(128) + 256 * 512 + 512 * 256 + 256 * 2,
     2 * 4 * 2 * squared(4000) * 128},
    // Two random features for the queries and the keys of each head.
    {"lra_listops_performer",
     "lra",
     {{"task", "listops"}, {"attention", "performer"}},
     8948746,
     0,
     4 * 2001 * 8 * squared(512) + 512 * 1024 + 1024 * 10,
     4 * 2001 * (4 * 2 * 512 + 2 * 2 * 8)},
    // One layer of 197 tokens less, four projections of 11 * 197 more, and the
    // feed-forward behind the maximum over the states.
    {"omninet_b16",
     "omninet_b16",
     {},
     86567656,
     0,
     16848500736 - 197 * 12 * squared(768) +
         (4 * 2167 + 8 * 197) * squared(768),
     715327488 / 12 * 11 + 2 * 2167 * 768 * (64 + 1)},
    // All of the block on 11 * 197 rows.
    {"omninet_b16_after_block",
     "omninet_b16",
     {{"pool", "after_block"}},
     86567656,
     0,
     16848500736 + (2167 - 197) * 12 * squared(768),
     715327488 / 12 * 11 + 2 * 2167 * 768 * (64 + 1)},
    // Linear attention in place of softmax, in all layers.
    {"omninet_b32_plain",
     "omninet_b32",
     {{"partition", "1"}},
     88224232,
     0,
     4363106304,
     12 * 2 * 50 * 768 * (64 + 1)},
    {"omninet_b32",
     "omninet_b32",
     {},
     88224232,
     0,
     4363106304 - 50 * 12 * squared(768) + (4 * 550 + 8 * 50) * squared(768),
     46080000 / 12 * 11 + 2 * 550 * 768 * (64 + 1)},
    // Five states of 256 tokens in the sixth layer.
    {"omninet_lm",
     "omninet_lm",
     {},
     49653040,
     0,
     8763998208 + 4 * 256 * 12 * squared(512),
     402653184 / 6 * 5 + 2 * squared(1280) * 512},
    // Two states in the third and sixth.
    {"omninet_lm_3_performer",
     "omninet_lm",
     {{"partition", "3"}, {"attend", "performer"}},
     49653040,
     0,
     8763998208 + 2 * 256 * 12 * squared(512),
     402653184 / 6 * 4 + 2 * 2 * 512 * 512 * (64 + 1)},
    {"minilm_l6", "minilm_l6", {}, 22713216, 0, 1359101952, 75497472},
    {"t2t_vit_14",
     "t2t_vit_14",
     {},
     21465806,
     0,
     4333610496 + 900 * 384,
     t2tAttention},
    {"t2t_vit_14_hor",
     "t2t_vit_14",
     {hor},
     21868124,
     0,
     4470230784 + 900 * 384,
     t2tAttention},
    {"t2t_vit_14_ver",
     "t2t_vit_14",
     {ver},
     23019470,
     0,
     4638623232 + 900 * 384,
     t2tAttention},
    {"t2t_vit_14_hor_ver",
     "t2t_vit_14",
     {hor, ver},
     23421788,
     0,
     4775243520 + 900 * 384,
     t2tAttention},
    {"t2t_vit_14_100",
     "t2t_vit_14",
     {hundred},
     21119306,
     21094948,
     4333610496,
     t2tAttention},
    {"t2t_vit_14_100_hor",
     "t2t_vit_14",
     {hundred, hor},
     21521624,
     21497266,
     4470230784,
     t2tAttention},
    {"t2t_vit_14_100_ver",
     "t2t_vit_14",
     {hundred, ver},
     22672970,
     22648612,
     4638623232,
     t2tAttention},
    {"t2t_vit_14_100_hor_ver",
     "t2t_vit_14",
     {hundred, hor, ver},
     23075288,
     23050930,
     4775243520,
     t2tAttention},
    {"tnt_s", "tnt_s", {}, 23768584, 0, tntLinear, tntAttention},
    {"tnt_s_v1",
     "tnt_s",
     {{"variant", "v1"}, {"stem", "image_conv"}},
     23755336,
     0,
     tntLinear,
     tntAttention},
    // Words are made of 4 x 4 pixels, not of 7 x 7.
    {"tnt_s_linear",
     "tnt_s",
     {{"stem", "linear"}},
     23768584 - 3 * 33 * 24,
     0,
     tntLinear - 3136 * 3 * 33 * 24,
     tntAttention},
    {"transformer_base",
     "transformer_base",
     {},
     63045632,
     0,
     4030988288,
     75497472},
    // h (p_q d_q + p_k d_k + p_v d_v) + p_o h p_v; 9 queries, 11 keys.
    {"lecture_softmax",
     "lecture_mha",
     {},
     180,
     180,
     9 * 40 + 11 * (56 + 36) + 9 * 48,
     2 * 9 * 11 * 7},
    // Inner maps of width 4 for each of the two heads.
    {"lecture_additive",
     "lecture_mha",
     {{"kind", "additive"}, {"p_k", "3"}},
     166 + 2 * 4 * (4 + 3 + 1),
     0,
     9 * 40 + 11 * (42 + 36) + 9 * 48 + 2 * 4 * (9 * 4 + 11 * 3),
     2 * 9 * 11 * (4 + 3)},
};
INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(rows),
                         [](const auto &info) { return info.param.name; });

TEST(Summary, counts_tables_and_features_as_frozen) {
  ModelOptions options;
  options.path = HOVA_MODELS "/t2t_vit_14.json";
  Model model;
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  ASSERT_EQ(readModel(options, model, errors), ModelStatus::Ok) << messages;
  mlir::MLIRContext context;
  inspect::Summary summary = inspect::summarize(*model.program, context);
  EXPECT_EQ(summary.frozen, 197 * 384 + 2 * 32 * 64);
}

TEST(Summary, is_the_json_of_the_contract) {
  ModelOptions options;
  options.path = HOVA_MODELS "/lecture_mha.json";
  std::string text, messages;
  llvm::raw_string_ostream out(text), errors(messages);
  ASSERT_EQ(inspect::runSummary(options, /*json=*/true, out, errors), 0);
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

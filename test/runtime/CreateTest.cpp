//===- CreateTest.cpp - Contexts that are made or refused -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FixtureCall.h"
#include "ImageChecksum.h"
#include "runtime/Checksum.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

using namespace hova::test;

namespace {

constexpr uint64_t kWeightsEnd = HOVA_IMAGE_HEADER_BYTES + FIXTURE_WEIGHT_BYTES;
constexpr uint64_t kImageBytes = kWeightsEnd + sizeof(hova_image_trailer);

struct Image {
  alignas(64) char bytes[kImageBytes + 64] = {};

  Image() {
    hova_image_header header = {};
    std::memcpy(header.magic, HOVA_IMAGE_MAGIC, 8);
    header.abi = HOVA_ABI_VERSION;
    header.header_bytes = HOVA_IMAGE_HEADER_BYTES;
    header.weight_bytes = FIXTURE_WEIGHT_BYTES;
    std::strcpy(header.id, "0123abcd");
    std::strcpy(header.model, "fixture");
    set(header);
    const float w = 2;
    std::memcpy(bytes + HOVA_IMAGE_HEADER_BYTES, &w, sizeof w);
    seal();
  }
  /// Writes the checksums of what is there.
  void seal() {
    hova_image_trailer trailer = sealOf(bytes, FIXTURE_WEIGHT_BYTES);
    std::memcpy(bytes + kWeightsEnd, &trailer, sizeof trailer);
  }
  hova_image_header get() const {
    hova_image_header header;
    std::memcpy(&header, bytes, sizeof header);
    return header;
  }
  void set(const hova_image_header &header) {
    std::memcpy(bytes, &header, sizeof header);
  }
};

hova_status create(const hova_options &given, std::string &message,
                   hova_context **context,
                   const hova_program *program = &hova_program_fixture) {
  char text[640] = "";
  hova_options options = given;
  options.message = text;
  options.message_bytes = sizeof text;
  hova_status status = hova_create(program, &options, context);
  message = text;
  return status;
}

TEST(Create, refuses_code_for_a_gpu) {
  hova_device_code code = {};
  hova_level level = {"sm_80", 0, nullptr, nullptr, &code};
  hova_program program = hova_program_weightless;
  program.levels = &level;
  program.num_levels = 1;
  hova_context *context = nullptr;
  std::string message;
  EXPECT_EQ(create({}, message, &context, &program), HOVA_REJECTED);
  EXPECT_EQ(message, "program 'fixture' has code for a GPU and is linked for a "
                     "processor");
}

TEST(Image, in_memory_is_used) {
  Image image;
  hova_options options = {};
  options.image = image.bytes;
  options.image_bytes = kImageBytes;
  hova_context *context = nullptr;
  std::string message;
  ASSERT_EQ(create(options, message, &context), HOVA_OK) << message;
  Call call;
  ASSERT_EQ(hova_run(context, call.inputs, call.outputs), HOVA_OK);
  EXPECT_EQ(call.y[0], 2 * call.x[FIXTURE_SIZE - 1]);
  hova_destroy(context);
}

TEST(Image, is_read_whole_only_where_that_is_asked_for) {
  for (int32_t check : {0, 1, 2}) {
    Image image;
    image.bytes[kWeightsEnd - 1] = 1;
    if (check == 1) {
      image.seal();
    }
    hova_options options = {};
    options.image = image.bytes;
    options.image_bytes = kImageBytes;
    options.check_weights = check;
    hova_context *context = nullptr;
    std::string message;
    EXPECT_EQ(create(options, message, &context),
              check == 2 ? HOVA_REJECTED : HOVA_OK)
        << message;
    if (check == 2) {
      EXPECT_NE(message.find("0 or 1 as check_weights"), std::string::npos);
    }
    hova_destroy(context);
  }
}

/// Bytes of stack that creating and destroying a context takes, of an image
/// that is read whole, in a file or in memory.
uint64_t stackOfCreate(const hova_options &given) {
  static hova_options options;
  static ucontext_t caller, callee;
  options = given;
  std::vector<uint8_t> stack(64 << 10, 0xA5);
  getcontext(&callee);
  callee.uc_stack.ss_sp = stack.data();
  callee.uc_stack.ss_size = stack.size();
  callee.uc_link = &caller;
  makecontext(
      &callee,
      [] {
        hova_context *context = nullptr;
        hova_create(&hova_program_fixture, &options, &context);
        hova_destroy(context);
      },
      0);
  swapcontext(&caller, &callee);
  size_t untouched = 0;
  while (untouched < stack.size() && stack[untouched] == 0xA5) {
    ++untouched;
  }
  return stack.size() - untouched;
}

TEST(Create, takes_little_stack) {
  // What docs/embedding.md promises.
  constexpr uint64_t most = 12 << 10;
  Image image;
  std::string path = testing::TempDir() + "stack" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary).write(image.bytes, kImageBytes);
  char message[640];
  hova_options options = {};
  options.check_weights = 1;
  options.message = message;
  options.message_bytes = sizeof message;
  options.image = image.bytes;
  options.image_bytes = kImageBytes;
  for (int32_t threads : {1, 3}) {
    options.threads = threads;
    EXPECT_LE(stackOfCreate(options), most);
    options.weights = path.c_str();
    EXPECT_LE(stackOfCreate(options), most);
    options.weights = "missing";
    EXPECT_LE(stackOfCreate(options), most);
    options.weights = nullptr;
  }
  unlink(path.c_str());
}

/// What a create says of a changed image in a file of this mode and owner.
hova_status createFromFile(mode_t mode, uid_t owner, std::string &message) {
  Image image;
  image.bytes[kWeightsEnd - 1] = 1;
  std::string path = testing::TempDir() + "image" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary).write(image.bytes, kImageBytes);
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  if (owner != geteuid()) {
    EXPECT_EQ(chown(path.c_str(), owner, getegid()), 0);
  }
  hova_options options = {};
  options.weights = path.c_str();
  hova_context *context = nullptr;
  hova_status status = create(options, message, &context);
  hova_destroy(context);
  unlink(path.c_str());
  return status;
}

TEST(Image, is_read_whole_where_others_may_write_to_its_file) {
  std::string message;
  for (mode_t mode : {0644, 0600, 0444}) {
    EXPECT_EQ(createFromFile(mode, geteuid(), message), HOVA_OK) << message;
  }
  for (mode_t mode : {0664, 0646, 0620, 0602}) {
    EXPECT_EQ(createFromFile(mode, geteuid(), message), HOVA_REJECTED) << mode;
    EXPECT_NE(message.find("the checksum of its weights"), std::string::npos);
  }
  if (geteuid() == 0) { // who else could give a file away?
    EXPECT_EQ(createFromFile(0644, 65534, message), HOVA_REJECTED);
  }
}

TEST(Checksum, is_the_one_of_zlib) {
  const char *text = "123456789";
  EXPECT_EQ(hova_checksum({reinterpret_cast<const uint8_t *>(text), 9}),
            0xCBF43926u);
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(hova_checksum({bytes.data(), bytes.size()}),
              crc32(bytes.data(), bytes.size()));
    bytes.push_back(static_cast<uint8_t>(i * 97 + 13));
  }
}

struct WrongImageCase {
  const char *name;
  std::function<void(Image &, hova_options &)> change;
  const char *message;
};

class WrongImage : public testing::TestWithParam<WrongImageCase> {};

TEST_P(WrongImage, is_rejected) {
  Image image;
  hova_options options = {};
  options.image = image.bytes;
  options.image_bytes = kImageBytes;
  GetParam().change(image, options);
  hova_context *context = nullptr;
  std::string message;
  EXPECT_EQ(create(options, message, &context), HOVA_REJECTED);
  EXPECT_EQ(context, nullptr);
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

template <typename Change> auto changeHeader(Change change) {
  return [change](Image &image, hova_options &) {
    hova_image_header header = image.get();
    change(header);
    image.set(header);
    image.seal();
  };
}

const WrongImageCase wrongImages[] = {
    {"none", [](Image &, hova_options &o) { o.image = nullptr; },
     "needs packed weights"},
    {"empty", [](Image &, hova_options &o) { o.image_bytes = 0; },
     "is not a file of packed weights"},
    {"no_magic", [](Image &i, hova_options &) { i.bytes[7] = '2'; },
     "hova weights pack fixture.json --march=x86-64 -o IMAGE"},
    {"safetensors",
     [](Image &i, hova_options &) {
       std::memcpy(i.bytes, "\x10\0\0\0\0\0\0\0{", 9);
     },
     "is a safetensors file, not one of packed weights"},
    {"header_cut_off",
     [](Image &, hova_options &o) {
       o.image_bytes = HOVA_IMAGE_HEADER_BYTES - 1;
     },
     "is cut off"},
    {"cut_off", [](Image &, hova_options &o) { --o.image_bytes; },
     "has another size"},
    {"too_long", [](Image &, hova_options &o) { o.image_bytes += 64; },
     "has another size"},
    {"other_size", changeHeader([](auto &h) { h.weight_bytes = 128; }),
     "has another size"},
    {"other_version", changeHeader([](auto &h) { ++h.abi; }),
     "another version of hova"},
    {"other_layout", changeHeader([](auto &h) { h.id[0] = '9'; }),
     "in another layout"},
    {"longer_id", changeHeader([](auto &h) { h.id[8] = '0'; }),
     "in another layout"},
    {"other_model", changeHeader([](auto &h) {
       h.id[0] = '9';
       h.model[0] = 'F';
     }),
     "weights of another model"},
    {"other_end", [](Image &i, hova_options &) { i.bytes[kWeightsEnd] = 'h'; },
     "the checksum of its header"},
    {"changed_header",
     [](Image &i, hova_options &) { i.bytes[HOVA_IMAGE_HEADER_BYTES - 1] = 1; },
     "the checksum of its header"},
    {"changed_weights",
     [](Image &i, hova_options &o) {
       i.bytes[kWeightsEnd - 1] = 1;
       o.check_weights = 1;
     },
     "the checksum of its weights"},
    {"unaligned", [](Image &i, hova_options &o) { o.image = i.bytes + 32; },
     "aligned to 64 bytes"},
};
INSTANTIATE_TEST_SUITE_P(Context, WrongImage, testing::ValuesIn(wrongImages),
                         [](auto &info) { return info.param.name; });

/// Images of two programs in one file, each at a page: 5 for each weight of the
/// first, 2 for the fixture's.
struct TwoImages {
  static constexpr uint64_t kSecond =
      (kImageBytes + HOVA_IMAGE_HEADER_BYTES - 1) / HOVA_IMAGE_HEADER_BYTES *
      HOVA_IMAGE_HEADER_BYTES;
  static constexpr uint64_t kBytes = kSecond + kImageBytes;
  alignas(64) char bytes[kBytes + 64] = {};

  TwoImages() {
    Image image;
    std::memcpy(bytes + kSecond, image.bytes, kImageBytes);
    hova_image_header header = image.get();
    header.id[0] = '9';
    image.set(header);
    const float w = 5;
    std::memcpy(image.bytes + HOVA_IMAGE_HEADER_BYTES, &w, sizeof w);
    image.seal();
    std::memcpy(bytes, image.bytes, kImageBytes);
  }
  /// The weight that a program with this identity finds; 0: none, and why.
  float find(const char *id, uint64_t size, std::string &message) {
    hova_program program = hova_program_fixture;
    program.weight_id = id;
    hova_options options = {};
    options.image = bytes;
    options.image_bytes = size;
    options.check_weights = 1;
    hova_context *context = nullptr;
    if (create(options, message, &context, &program) != HOVA_OK) {
      return 0;
    }
    Call call;
    EXPECT_EQ(hova_run(context, call.inputs, call.outputs), HOVA_OK);
    hova_destroy(context);
    // The last of x is the first of y, and ids begin with 0.
    return call.y[0] / call.x[FIXTURE_SIZE - 1];
  }
};

TEST(Image, of_several_that_of_the_program_is_used) {
  TwoImages images;
  std::string message;
  EXPECT_EQ(images.find("9123abcd", TwoImages::kBytes, message), 5);
  EXPECT_EQ(images.find("0123abcd", TwoImages::kBytes, message), 2);
  EXPECT_EQ(images.find("other", TwoImages::kBytes, message), 0);
  EXPECT_NE(message.find("in another layout"), std::string::npos) << message;
  EXPECT_EQ(images.find("0123abcd", TwoImages::kBytes - 1, message), 0);
  EXPECT_NE(message.find("in another layout"), std::string::npos) << message;
  EXPECT_EQ(images.find("0123abcd", TwoImages::kBytes + 64, message), 0);
  EXPECT_NE(message.find("has another size"), std::string::npos) << message;
  images.bytes[TwoImages::kBytes - sizeof(hova_image_trailer) - 1] ^= 1;
  EXPECT_EQ(images.find("0123abcd", TwoImages::kBytes, message), 0);
  EXPECT_NE(message.find("the checksum of its weights"), std::string::npos);
  // Nobody reads the other one.
  EXPECT_EQ(images.find("9123abcd", TwoImages::kBytes, message), 5);
  // And what comes after it is no image: too much.
  images.bytes[TwoImages::kSecond] = 'h';
  EXPECT_EQ(images.find("9123abcd", TwoImages::kBytes, message), 0);
  EXPECT_NE(message.find("has another size"), std::string::npos) << message;
}

TEST(Create, rejects_what_is_out_of_range) {
  hova_context *context = nullptr;
  std::string message;
  hova_options options = {};
  for (int32_t threads : {-1, 1025}) {
    options.threads = threads;
    EXPECT_EQ(create(options, message, &context, &hova_program_weightless),
              HOVA_REJECTED);
    EXPECT_NE(message.find("expects 0 to 1024 threads, got"),
              std::string::npos);
  }
  EXPECT_EQ(create({}, message, &context, nullptr), HOVA_REJECTED);
  EXPECT_EQ(create({}, message, nullptr, &hova_program_weightless),
            HOVA_REJECTED);
  hova_program other = hova_program_weightless;
  ++other.abi;
  EXPECT_EQ(create({}, message, &context, &other), HOVA_REJECTED);
  EXPECT_NE(message.find("interface version"), std::string::npos);
}

TEST(Create, an_arena_beyond_memory_is_said) {
  hova_program large = hova_program_weightless;
  for (uint64_t bytes : {UINT64_C(1) << 55, ~UINT64_C(0)}) {
    large.arena_bytes = bytes;
    hova_context *context = nullptr;
    std::string message;
    EXPECT_EQ(create({}, message, &context, &large), HOVA_OUT_OF_MEMORY);
    EXPECT_NE(message.find(std::to_string(bytes)), std::string::npos)
        << message;
  }
}

TEST(Create, uses_the_usable_processors_by_default) {
  hova_context *context = nullptr;
  std::string message;
  ASSERT_EQ(create({}, message, &context, &hova_program_weightless), HOVA_OK);
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(hova_threads_of(context), CPU_COUNT(&set));
  hova_destroy(context);
}

TEST(Create, leaves_no_thread_behind) {
  for (int i = 0; i < 200; ++i) {
    Context fixture(8);
    Call call;
    ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  }
}

} // namespace

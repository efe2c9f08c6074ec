//===- PlaceTest.cpp - Where outputs go -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/FileUses.h"
#include "runtime/Output.h"

#include "TestFiles.h"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>

using namespace hova::test;
namespace fs = std::filesystem;

namespace {

/// Writes `text` to `path`.
hova_status writeText(const std::string &path, const std::string &text,
                      hova_error *error = nullptr) {
  hova_output output;
  hova_status status = hova_output_open(&output, path.c_str(), error);
  if (status == HOVA_OK) {
    status = hova_output_write(&output, text.data(), text.size(), error);
    status = hova_output_close(&output, status, error);
  }
  return status;
}

std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

unsigned modeOf(const std::string &path) {
  struct stat file = {};
  EXPECT_EQ(::stat(path.c_str(), &file), 0);
  return file.st_mode & 07777;
}

/// An open place for `path`.
hova_place openPlace(const std::string &path, unsigned mode) {
  hova_place place;
  hova_error error;
  EXPECT_EQ(hova_place_find(path.c_str(), &place, &error), HOVA_OK)
      << error.text;
  EXPECT_EQ(hova_place_open(&place, mode, &error), HOVA_OK) << error.text;
  return place;
}

using Names = std::vector<std::string>;

TEST(Place, links_are_followed_and_stay) {
  Folder folder;
  fs::create_directory(folder.file("far"));
  fs::create_symlink("far/second", folder.file("first"));
  fs::create_symlink("target", folder.file("far/second"));
  // First the target is missing, then it is replaced.
  for (const char *text : {"one", "two"}) {
    ASSERT_EQ(writeText(folder.file("first"), text), HOVA_OK);
    EXPECT_EQ(Folder::read(folder.file("far/target")), text);
    EXPECT_TRUE(fs::is_symlink(folder.file("first")));
    EXPECT_TRUE(fs::is_symlink(folder.file("far/second")));
  }
  EXPECT_EQ(namesIn(folder.file("far")), (Names{"second", "target"}));
}

TEST(Place, links_in_a_circle_are_an_error) {
  Folder folder;
  fs::create_symlink("a", folder.file("a"));
  hova_error error;
  EXPECT_EQ(writeText(folder.file("a"), "", &error), HOVA_IO_ERROR);
  EXPECT_NE(std::string(error.text).find("symbolic links"), std::string::npos);
}

TEST(Place, a_fifo_is_written_through) {
  Folder folder;
  std::string path = folder.file("fifo");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = Folder::read(path); });
  EXPECT_EQ(writeText(path, "through"), HOVA_OK);
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_EQ(namesIn(folder.file("")), Names{"fifo"});
}

TEST(Place, a_device_is_written_through) {
  Folder folder;
  std::string null = folder.file("null"), full = folder.file("full");
  if (::mknod(null.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0 ||
      ::mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0 ||
      ::close(::open(null.c_str(), O_WRONLY)) != 0) {
    GTEST_SKIP() << "only root can make devices";
  }
  EXPECT_EQ(writeText(null, "gone"), HOVA_OK);
  EXPECT_EQ(writeText(full, "more"), HOVA_IO_ERROR);
  EXPECT_TRUE(fs::is_character_file(null) && fs::is_character_file(full));
}

TEST(Place, what_this_process_has_open_is_written_where_it_stands) {
  Folder folder;
  int descriptor = ::open(folder.file("log").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(descriptor, "a", 1), 1);
  std::string path = "/dev/fd/" + std::to_string(descriptor);
  EXPECT_EQ(writeText(path, "b"), HOVA_OK);
  ASSERT_EQ(::write(descriptor, "c", 1), 1);
  ::close(descriptor);
  EXPECT_EQ(Folder::read(folder.file("log")), "abc");
}

TEST(Place, a_replaced_file_keeps_its_mode) {
  Folder folder;
  std::string path = folder.write("file", "old");
  for (unsigned mode : {0600u, 0640u, 0444u}) {
    if (::geteuid() != 0 && !(mode & 0200)) {
      continue;
    }
    fs::permissions(path, fs::perms(mode));
    ASSERT_EQ(writeText(path, "new"), HOVA_OK);
    EXPECT_EQ(modeOf(path), mode);
  }
}

TEST(Place, a_program_is_executable_by_who_may_read_it) {
  Folder folder;
  std::string path = folder.write("file", "old");
  fs::permissions(path, fs::perms(0640));
  hova_place place = openPlace(path, 0777), *places[] = {&place};
  EXPECT_EQ(hova_places_keep(places, 1, nullptr), HOVA_OK);
  EXPECT_EQ(modeOf(path), 0750u);
}

TEST(Place, what_cannot_be_written_is_found_without_a_trace) {
  Folder folder;
  hova_place place;
  for (const char *name : {"", "none/file", "file/x"}) {
    folder.write("file", "");
    EXPECT_EQ(hova_place_find(folder.file(name).c_str(), &place, nullptr),
              HOVA_IO_ERROR)
        << name;
  }
  std::string longName(256, 'n');
  EXPECT_EQ(hova_place_find(folder.file(longName).c_str(), &place, nullptr),
            HOVA_IO_ERROR);
  longName.pop_back();
  EXPECT_EQ(writeText(folder.file(longName), ""), HOVA_OK);
  EXPECT_EQ(namesIn(folder.file("")), (Names{"file", longName}));
}

TEST(Place, the_temporaries_of_killed_processes_are_removed) {
  Folder folder;
  for (const char *name : {".o.0.hova-tmp", ".o.1.hova-tmp", ".o.2.hova-tmp"}) {
    folder.write(name, "abandoned");
  }
  int owner = ::open(folder.file(".o.1.hova-tmp").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(owner, LOCK_EX), 0);
  ASSERT_EQ(writeText(folder.file("o"), "new"), HOVA_OK);
  EXPECT_EQ(namesIn(folder.file("")), (Names{".o.1.hova-tmp", "o"}));
  ::close(owner);
  ASSERT_EQ(writeText(folder.file("o"), "newer"), HOVA_OK);
  EXPECT_EQ(namesIn(folder.file("")), Names{"o"});
}

TEST(Place, writers_of_one_file_all_succeed) {
  Folder folder;
  constexpr int kWriters = 6, kRounds = 100;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        hova_error error;
        EXPECT_EQ(writeText(folder.file("o"), "whole", &error), HOVA_OK)
            << error.text;
      }
    });
  }
  for (std::thread &writer : writers) {
    writer.join();
  }
  EXPECT_EQ(Folder::read(folder.file("o")), "whole");
  EXPECT_EQ(namesIn(folder.file("")), Names{"o"});
}

TEST(Place, several_are_kept_together_or_none) {
  Folder folder;
  std::string old = folder.write("old", "before"), made = folder.file("new"),
              lost = folder.file("gone/x");
  fs::create_directory(folder.file("gone"));
  hova_place a = openPlace(old, 0666), b = openPlace(made, 0666),
             c = openPlace(lost, 0666), *all[] = {&a, &b, &c};
  fs::remove_all(folder.file("gone"));
  hova_error error;
  EXPECT_EQ(hova_places_keep(all, 3, &error), HOVA_IO_ERROR);
  EXPECT_NE(std::string(error.text).find("gone/x"), std::string::npos);
  EXPECT_EQ(Folder::read(old), "before");
  EXPECT_EQ(namesIn(folder.file("")), Names{"old"});

  a = openPlace(old, 0666);
  b = openPlace(made, 0666);
  ASSERT_EQ(::write(a.descriptor, "after", 5), 5);
  EXPECT_EQ(hova_places_keep(all, 2, nullptr), HOVA_OK);
  EXPECT_EQ(Folder::read(old), "after");
  EXPECT_EQ(namesIn(folder.file("")), (Names{"new", "old"}));
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

hova_status check(const std::string &a, bool written, const std::string &b) {
  hova_file_use uses[] = {{a.c_str(), "a", written, {}},
                          {b.c_str(), "b", true, {}}};
  return hova_check_files(uses, 2, nullptr);
}

TEST(FileUses, files_are_compared_by_what_they_are) {
  Folder folder;
  std::string file = folder.write("file", "");
  fs::create_hard_link(file, folder.file("hard"));
  fs::create_symlink("file", folder.file("soft"));
  fs::create_symlink("none", folder.file("dangling"));
  fs::create_directory_symlink(".", folder.file("here"));
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  for (bool written : {false, true}) {
    for (const char *name : {"file", "hard", "soft", "here/file"}) {
      EXPECT_EQ(check(file, written, folder.file(name)), HOVA_REJECTED) << name;
    }
    EXPECT_EQ(check(file, written, folder.file("other")), HOVA_OK);
    EXPECT_EQ(check(folder.file("fifo"), written, folder.file("fifo")),
              HOVA_OK);
  }
  std::string none = folder.file("none");
  EXPECT_EQ(check(none, true, folder.file("here/none")), HOVA_REJECTED);
  EXPECT_EQ(check(none, true, folder.file("dangling")), HOVA_REJECTED);
  // What is read after it was written would be compared with itself.
  EXPECT_EQ(check(none, false, none), HOVA_REJECTED);
  EXPECT_EQ(check(none, false, folder.file("dangling")), HOVA_REJECTED);
  EXPECT_EQ(check(none, false, file), HOVA_OK) << "its reader will say so";
}

} // namespace

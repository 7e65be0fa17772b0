#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/security/keys.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::security {

using Catch::Matchers::ContainsSubstring;

using test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

mode_t mode_of(const std::string& file) {
  struct stat about {};
  REQUIRE(::stat(file.c_str(), &about) == 0);
  return about.st_mode & 0777;
}

}  // namespace

TEST_CASE("a secret is written for its owner alone, and never over another file") {
  const TemporaryFolder folder;
  const std::string file = folder / "farm.key";
  const FarmKeys keys{{make_farm_key("one")}};
  REQUIRE(write_new_file(file, to_text(keys), true) == "");
  CHECK(mode_of(file) == 0600);
  CHECK_THAT(write_new_file(file, "else", true), ContainsSubstring("exists already"));
  const auto read = read_farm_keys(file);
  REQUIRE(read.has_value());
  CHECK(read->keys[0].secret == keys.keys[0].secret);
}

TEST_CASE("a secret that others can read or write is refused with what to do") {
  const TemporaryFolder folder;
  const std::string file = folder / "farm.key";
  REQUIRE(write_new_file(file, to_text(FarmKeys{{make_farm_key("one")}}), true) == "");
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0644}) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    const auto read = read_farm_keys(file);
    INFO(mode);
    REQUIRE_FALSE(read.has_value());
    CHECK_THAT(read.error(), ContainsSubstring(file) && ContainsSubstring("chmod 600"));
  }
  REQUIRE(::chmod(file.c_str(), 0400) == 0);
  CHECK(read_farm_keys(file).has_value());
}

TEST_CASE("the list of clients may be read by all and written by its owner alone") {
  const TemporaryFolder folder;
  const std::string file = folder / "bus-clients";
  REQUIRE(write_new_file(file, to_text(std::vector<AllowedClient>{}), false) == "");
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  CHECK(read_clients(file).has_value());
  REQUIRE(::chmod(file.c_str(), 0664) == 0);
  CHECK_THAT(read_clients(file).error(), ContainsSubstring("can write to it"));
}

TEST_CASE("a path that is missing, too large or not a file is named") {
  const TemporaryFolder folder;
  CHECK_THAT(read_farm_keys(folder / "none").error(),
             ContainsSubstring("none") && ContainsSubstring("No such file"));
  CHECK_THAT(read_farm_keys(folder.path()).error(), ContainsSubstring("is not a regular file"));
  const std::string large = folder / "large";
  REQUIRE(write_new_file(large, std::string(kKeyFileBytesMax + 1, '#'), true) == "");
  CHECK_THAT(read_farm_keys(large).error(), ContainsSubstring("is larger than"));
}

TEST_CASE("a file of keys is replaced as a whole and stays a secret") {
  const TemporaryFolder folder;
  const std::string file = folder / "farm.key";
  REQUIRE(write_new_file(file, "old", true) == "");
  REQUIRE(write_new_file(file + ".new", "left by an attempt that was cut short", true) == "");
  REQUIRE(replace_file(file, "new", true) == "");
  std::ifstream in(file);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "new");
  CHECK(mode_of(file) == 0600);
  CHECK_FALSE(fs::exists(file + ".new"));
}

}  // namespace weir::security

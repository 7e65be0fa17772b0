#include "process.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace weir::system_test;
namespace fs = std::filesystem;

CommandEnd keys(const TemporaryFolder& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"keys"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_command(folder, "weir", words);
}

}  // namespace

TEST_CASE("new keys are secrets of their owner, and are not written over") {
  const TemporaryFolder folder;
  const std::string made = folder / "keys";
  REQUIRE(keys(folder, {"new", made}).status == 0);
  for (const char* name : {"farm.key", "control.curve", "node.curve", "observer.curve", "operator.curve"}) {
    INFO(name);
    CHECK(fs::status(made + "/" + name).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  }
  const std::string before = read_file(made + "/farm.key");
  const CommandEnd again = keys(folder, {"new", made});
  CHECK(again.status == 1);
  CHECK_THAT(again.err, Catch::ContainsSubstring("already exists"));
  CHECK(read_file(made + "/farm.key") == before);

  const CommandEnd shown = keys(folder, {"show", made});
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, Catch::ContainsSubstring("used") && Catch::ContainsSubstring("operator"));
  // A secret is the third word of its line.
  const std::string secret = before.substr(before.rfind(' ') + 1, 64);
  CHECK(shown.out.find(secret) == std::string::npos);
}

TEST_CASE("a farm key is changed in three steps, each refused out of order") {
  const TemporaryFolder folder;
  const std::string made = folder / "keys";
  REQUIRE(keys(folder, {"new", made, "--name", "old"}).status == 0);
  REQUIRE(keys(folder, {"add", made, "--name", "new"}).status == 0);
  CHECK(keys(folder, {"add", made, "--name", "new"}).status == 1);
  CHECK_THAT(keys(folder, {"drop", made, "old"}).err, Catch::ContainsSubstring("is in use"));
  CHECK_THAT(keys(folder, {"use", made, "none"}).err, Catch::ContainsSubstring("key 'none' does not exist"));
  REQUIRE(keys(folder, {"use", made, "new"}).status == 0);
  const std::string text = read_file(made + "/farm.key");
  CHECK(text.find("key new ") < text.find("key old "));
  REQUIRE(keys(folder, {"drop", made, "old"}).status == 0);
  CHECK(read_file(made + "/farm.key").find("key old ") == std::string::npos);
}

TEST_CASE("a further client of the bus has its own keys and a line in the list") {
  const TemporaryFolder folder;
  const std::string made = folder / "keys";
  REQUIRE(keys(folder, {"new", made}).status == 0);
  REQUIRE(keys(folder, {"client", made, "shift-desk", "--role", "observer"}).status == 0);
  CHECK_THAT(read_file(made + "/bus-clients"), Catch::ContainsSubstring("client observer shift-desk "));
  CHECK_THAT(read_file(made + "/shift-desk.curve"), Catch::ContainsSubstring("role observer\n"));
  CHECK(keys(folder, {"client", made, "shift-desk"}).status == 1);
  CHECK(keys(folder, {"client", made, "a/b"}).status == 1);
}

TEST_CASE("keys that others can read are refused with the remedy") {
  const TemporaryFolder folder;
  const std::string made = folder / "keys";
  REQUIRE(keys(folder, {"new", made}).status == 0);
  fs::permissions(made + "/farm.key", fs::perms::group_read, fs::perm_options::add);
  const CommandEnd shown = keys(folder, {"show", made});
  CHECK(shown.status == 1);
  CHECK_THAT(shown.err, Catch::ContainsSubstring("chmod 600"));
}

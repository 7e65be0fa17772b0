#include "weir_catch.hpp"
#include <weir/source_host/plugin.hpp>

using Catch::ContainsSubstring;
using namespace weir::source_host;

namespace {

const std::vector<std::string> kFolder{WEIR_TEST_PLUGIN_DIR};

SourceError refused(const std::string& name) {
  auto plugin = SourcePlugin::load(name, kFolder);
  REQUIRE_FALSE(plugin);
  return plugin.error();
}

}  // namespace

TEST_CASE("a source plugin is found by its name and describes itself") {
  const auto plugin = SourcePlugin::load("scripted", {"/nowhere", WEIR_TEST_PLUGIN_DIR});
  REQUIRE(plugin);
  CHECK((*plugin)->name() == "scripted");
  CHECK((*plugin)->version() == "2.5");
  CHECK_THAT((*plugin)->path(), ContainsSubstring("/scripted.so"));
}

TEST_CASE("a source plugin's name is clean text") {
  const auto plugin = SourcePlugin::load("nasty", kFolder);
  REQUIRE(plugin);
  CHECK((*plugin)->name() == "one\\nlevel=error \\x1b[2J \\xff");
  CHECK((*plugin)->version() == "1.0one\\nlevel=error \\x1b[2J \\xff");
}

TEST_CASE("a source plugin with create, poll and destroy alone is loaded") {
  CHECK(SourcePlugin::load("minimal", kFolder));
}

TEST_CASE("a source plugin of another ABI is refused with both versions and the remedy") {
  const SourceError error = refused("wrong-abi");
  CHECK(error.code == SourceErrorCode::wrong_abi);
  CHECK_THAT(error.text, ContainsSubstring("wrong-abi.so") && ContainsSubstring("source ABI 2") &&
                             ContainsSubstring("this Weir needs ABI 1") && ContainsSubstring("SourceSDK"));
  CHECK_THAT(refused("other-symbol").text, ContainsSubstring("source ABI 3"));
}

TEST_CASE("an invalid source plugin is refused with the missing part") {
  CHECK(refused("wrong-size").code == SourceErrorCode::wrong_struct_size);
  const SourceError idle = refused("idle");
  CHECK(idle.code == SourceErrorCode::incomplete);
  CHECK_THAT(idle.text, ContainsSubstring("has no make and no poll"));
  CHECK_THAT(refused("scriptd").text, ContainsSubstring("Is 'scripted' meant?"));
}

TEST_CASE("a filter in a source's place is refused by its symbol") {
  const auto plugin = SourcePlugin::load("accept-all", {WEIR_PLUGIN_DIR});
  if (!plugin && plugin.error().code == SourceErrorCode::not_found) return;  // not built
  REQUIRE_FALSE(plugin);
  CHECK_THAT(plugin.error().text, ContainsSubstring("not a source plugin"));
}

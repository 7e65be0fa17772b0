#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/filter_host/plugin.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using Catch::ContainsSubstring;
using namespace weir::filter_host;

namespace {

const std::vector<std::string> kFolder{WEIR_TEST_PLUGIN_DIR};

FilterError refused(const std::string& name, const std::vector<std::string>& folders = kFolder) {
  auto plugin = FilterPlugin::load(name, folders);
  REQUIRE_FALSE(plugin);
  return plugin.error();
}

}  // namespace

TEST_CASE("a plugin is found by its name and describes itself") {
  const auto plugin = FilterPlugin::load("scripted", {"/nowhere", WEIR_TEST_PLUGIN_DIR});
  REQUIRE(plugin);
  CHECK((*plugin)->name() == "scripted");
  CHECK((*plugin)->version() == "2.5");
  CHECK((*plugin)->description() == "does what it is told");
  CHECK_THAT((*plugin)->path(), ContainsSubstring("/scripted.so"));
}

TEST_CASE("a plugin's own description is clean text") {
  const auto plugin = FilterPlugin::load("nasty", kFolder);
  REQUIRE(plugin);
  CHECK((*plugin)->name() == "one\\nlevel=error \\x1b[2J \\xff");
  CHECK((*plugin)->version() == "1.0one\\nlevel=error \\x1b[2J \\xff");
  CHECK_THAT((*plugin)->description(), ContainsSubstring("one way") && !ContainsSubstring("\n"));
}

TEST_CASE("a plugin's checksum is that of its file") {
  const auto by_name = FilterPlugin::load("scripted", kFolder);
  const auto by_path = FilterPlugin::load(WEIR_TEST_PLUGIN_DIR "/scripted.so", {});
  const auto other = FilterPlugin::load("minimal", kFolder);
  REQUIRE((by_name && by_path && other));
  CHECK((*by_name)->file_crc32c() == (*by_path)->file_crc32c());
  CHECK((*by_name)->file_crc32c() != (*other)->file_crc32c());
}

TEST_CASE("a plugin without the optional functions is loaded") {
  CHECK(FilterPlugin::load("minimal", kFolder));
}

TEST_CASE("an unknown name is refused with the known plugins, and the nearest one") {
  const FilterError error = refused("scriptd");
  CHECK(error.code == FilterErrorCode::not_found);
  CHECK_THAT(error.text, ContainsSubstring("'scriptd'") && ContainsSubstring(WEIR_TEST_PLUGIN_DIR) &&
                             ContainsSubstring("minimal") && ContainsSubstring("Is 'scripted' meant?"));
  CHECK_THAT(refused("xyz").text, ContainsSubstring("Name one of these"));
  CHECK_THAT(refused("xyz", {}).text, ContainsSubstring("none"));
  CHECK_THAT(refused("/nowhere/x.so").text, ContainsSubstring("no such file"));
  CHECK_THAT(
      refused("./nowhere/x.so").text,
      ContainsSubstring("no such file: " + (std::filesystem::current_path() / "nowhere/x.so").string() +
                        " (a relative path begins in the working folder"));
  const std::string here = std::filesystem::current_path().string();
  CHECK_THAT(refused("/nowhere/x.py").text, ContainsSubstring("filter '/nowhere/x.py': no such file"));
  CHECK_THAT(
      refused("nowhere/x.py").text,
      ContainsSubstring("no such file: " + here + "/nowhere/x.py (a relative path begins in the working"));
  CHECK_THAT(refused("x.py", {"/one", "two"}).text,
             ContainsSubstring("no such file in " + here + ", /one, " + here + "/two: give the path"));
}

TEST_CASE("a truncated plugin, and one for another processor, are refused before they are loaded") {
  const weir::ScratchFolder folder;
  std::ifstream file(WEIR_TEST_PLUGIN_DIR "/minimal.so", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(whole.size() > 1000);
  const auto load = [&](const std::string& bytes) {
    const std::string path = folder.path() / "plugin.so";
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    return FilterPlugin::load(path, {});
  };
  CHECK(load(whole));
  CHECK(load(whole + std::string(65536 - whole.size() % 65536, '\0')));  // the size of a piece that is read
  for (const std::size_t size : {4, 63, 64, 300, 1000}) {
    const auto cut = load(whole.substr(0, size));
    REQUIRE_FALSE(cut);
    CHECK_THAT(cut.error().text,
               ContainsSubstring("is truncated, it has " + std::to_string(size) + " bytes"));
  }
  std::string other = whole;
  other[18] = 2;  // e_machine: EM_SPARC
  const auto refusal = load(other);
  REQUIRE_FALSE(refusal);
  CHECK_THAT(refusal.error().text, ContainsSubstring("another processor (ELF class 2, machine 2)"));
}

TEST_CASE("a plugin of another ABI is refused with both versions") {
  const FilterError error = refused("wrong-abi");
  CHECK(error.code == FilterErrorCode::wrong_abi);
  CHECK_THAT(error.text, ContainsSubstring("wrong-abi.so") && ContainsSubstring("filter ABI 2") &&
                             ContainsSubstring("ABI 1") && ContainsSubstring("FilterSDK"));
  const FilterError symbol = refused("other-symbol");
  CHECK(symbol.code == FilterErrorCode::wrong_abi);
  CHECK_THAT(symbol.text, ContainsSubstring("filter ABI 3"));
}

TEST_CASE("a plugin with another size of the ABI struct is refused with both sizes") {
  const FilterError error = refused("wrong-size");
  CHECK(error.code == FilterErrorCode::wrong_struct_size);
  CHECK_THAT(error.text, ContainsSubstring("24 bytes"));
}

TEST_CASE("a plugin that lacks a required function is refused with its name") {
  const FilterError error = refused("null-process");
  CHECK(error.code == FilterErrorCode::incomplete);
  CHECK_THAT(error.text, ContainsSubstring("has no process"));
}

TEST_CASE("a shared library without the plugin symbol is refused, and the symbol is named") {
  const FilterError error = refused("no-symbol");
  CHECK(error.code == FilterErrorCode::no_entry_point);
  CHECK_THAT(error.text, ContainsSubstring("weir_filter_plugin_v1"));
}

TEST_CASE("a file that is not a shared library is refused") {
  const auto folder = std::filesystem::temp_directory_path() / "weir_filter_host_plugin_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "text.so") << "not a library";
  std::ofstream(folder / "empty.so").flush();
  std::ofstream(folder / "cut.so") << "\x7f"
                                      "ELF and then nothing";
  for (const char* name : {"text", "empty", "cut"}) {
    const FilterError error = refused(name, {folder.string()});
    CHECK(error.code == FilterErrorCode::not_loadable);
    CHECK_THAT(error.text, ContainsSubstring(std::string(name) + ".so"));
  }
  std::filesystem::remove_all(folder);
}

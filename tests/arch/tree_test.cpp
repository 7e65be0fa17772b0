// The checks over this tree itself.
#include "checks.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

using namespace weir::arch;

const SourceTree& tree() {
  static const auto kTree =
      read_tree(WEIR_SOURCE_DIR, {"libs", "apps", "tools", "plugins", "proto", "tests", "cmake", "configs"});
  return kTree;
}

const Layers& layers() {
  static const auto kLayers = [] {
    std::ifstream file(WEIR_LAYERS_FILE, std::ios::binary);
    return parse_layers({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }();
  return kLayers;
}

// Literals that follow each other are one.
std::string joined(const std::string& code) {
  std::string out;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::size_t next = code[i] == '"' ? code.find_first_not_of(" \n", i + 1) : code.npos;
    if (next != code.npos && next > i + 1 && code[next] == '"') {
      i = next;
    } else {
      out += code[i];
    }
  }
  return out;
}

std::string listed(const Breaches& breaches) {
  std::string text;
  for (const auto& breach : breaches) text += breach + "\n";
  return text;
}

}  // namespace

TEST_CASE("the checks have read this tree and its layers") {
  REQUIRE(tree().contains("libs/foundation/base/CMakeLists.txt"));
  REQUIRE(tree().contains("tests/arch/tree_test.cpp"));
  REQUIRE(
      std::ranges::any_of(layers().libraries, [](const Library& library) { return library.name == "base"; }));
}

TEST_CASE("every library is above its dependencies") {
  CHECK(listed(check_declared_layers(tree(), layers())) == "");
}

TEST_CASE("every include is of a library that is depended on") {
  CHECK(listed(check_includes(tree(), layers())) == "");
}

TEST_CASE("the pure libraries use no network, thread, schema, log or clock") {
  CHECK(listed(check_pure_libraries(tree(), layers())) == "");
}

TEST_CASE("no code sleeps to synchronise") { CHECK(listed(check_no_sleep(tree())) == ""); }

TEST_CASE("every source is built") { CHECK(listed(check_no_orphans(tree())) == ""); }

TEST_CASE("every library describes itself") { CHECK(listed(check_readmes(tree(), layers())) == ""); }

TEST_CASE("every row of the fault table names an existing test") {
  std::ifstream file(WEIR_SOURCE_DIR "/docs/reliability.md", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  constexpr std::string_view kMark = "_test: ";
  std::size_t rows = 0;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t cell = line.rfind("| ", line.size() - 3);
    const std::size_t mark = line.find(kMark, cell == line.npos ? 0 : cell);
    if (!line.starts_with("| ") || cell == line.npos || mark == line.npos) continue;
    ++rows;
    const std::string name = "/" + std::string(line.substr(cell + 2, mark - cell - 2)) + "_test.cpp";
    std::string sentence(line.substr(mark + kMark.size()));
    sentence.resize(sentence.rfind(" |"));
    const bool there = std::ranges::any_of(tree(), [&](const auto& source) {
      return source.first.ends_with(name) &&
             joined(source.second).find("\"" + sentence + "\"") != std::string::npos;
    });
    INFO(line);
    CHECK(there);
  }
  constexpr std::size_t kRowsMin = 50;
  CHECK(rows >= kRowsMin);
}

TEST_CASE("no test skips by a warning or by words for ctest") { CHECK(listed(check_skips(tree())) == ""); }
TEST_CASE("tests use only matchers of both versions of Catch2") {
  CHECK(listed(check_matchers(tree())) == "");
}

TEST_CASE("every file includes the standard headers of its functions") {
  CHECK(listed(check_standard_headers(tree())) == "");
}

TEST_CASE("reports' numbers use the keys of the one table") {
  CHECK(listed(check_report_numbers(tree())) == "");
}

TEST_CASE("no work is left for later in the text") { CHECK(listed(check_nothing_left(tree())) == ""); }

TEST_CASE("every page that is cited exists") {
  SourceTree citing = read_tree(WEIR_SOURCE_DIR, {"docs", "deploy", "python"});
  citing.insert(tree().begin(), tree().end());
  std::vector<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_SOURCE_DIR))
    if (entry.path().extension() == ".md") pages.push_back(entry.path().filename());
  for (const auto& [path, text] : citing)
    if (path.ends_with(".md")) pages.push_back(path);
  CHECK(listed(check_cited_pages(citing, pages)) == "");
}

TEST_CASE("every public header is used outside of tests") { CHECK(listed(check_header_users(tree())) == ""); }

TEST_CASE("no two libraries define a type of the same name") {
  CHECK(listed(check_type_names(tree())) == "");
}

TEST_CASE("every header can be included twice") { CHECK(listed(check_header_guards(tree())) == ""); }

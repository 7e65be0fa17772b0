#include "yaml_tree.hpp"

#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>

#include <string>

using namespace weir;

namespace {

std::string syntax_error(const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().front().kind == config::ProblemKind::syntax);
  return config::to_text(file.error());
}

}  // namespace

TEST_CASE("broken YAML is refused with its line") {
  CHECK(syntax_error("dcm:\n  credits: 3\n count: 4\n") ==
        "farm.yaml:3: not valid YAML: end of map not found");
  CHECK(syntax_error("dcm:\n\tcredits: 3\n") == "farm.yaml:2: not valid YAML: illegal map value");
  CHECK_THAT(syntax_error("readout:\n  masked: [1, 2\n"),
             Catch::ContainsSubstring("end of sequence flow not found"));
}

TEST_CASE("an empty file is refused") {
  CHECK(syntax_error("") == "farm.yaml: holds no keys");
  CHECK(syntax_error("# nothing but a comment\n") == "farm.yaml: holds no keys");
}

TEST_CASE("two documents in one file are refused") {
  CHECK(syntax_error("farm: a\n---\nfarm: b\n") == "farm.yaml: holds more than one YAML document ('---')");
}

TEST_CASE("YAML features that farm files do not use are rejected") {
  CHECK(syntax_error("dcm: &x {credits: 1}\nreadout: *x\n") ==
        "farm.yaml:2: an alias (*name) is not allowed: write the value out");
  CHECK(syntax_error("farm: !!str a\n") == "farm.yaml:1: a tag (!name) is not allowed");
  CHECK(syntax_error("{[a]: b}\n") == "farm.yaml:1: a key has to be a plain word");
}

TEST_CASE("a bomb of aliases is refused at the first of them") {
  std::string text = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  CHECK(syntax_error(text) == "farm.yaml:2: an alias (*name) is not allowed: write the value out");
}

TEST_CASE("deep nesting is refused") {
  const std::string open(1000, '[');
  const std::string close(1000, ']');
  CHECK(syntax_error("farm: " + open + close + "\n") == "farm.yaml:1: nested deeper than 16 levels");
}

TEST_CASE("a huge file is refused") {
  const std::string text(config::kFarmFileBytesMax + 1, '#');
  CHECK(syntax_error(text) == "farm.yaml: larger than 16777216 bytes");
}

TEST_CASE("input that is not text is rejected with its line") {
  CHECK(syntax_error("farm: a\nrun: \xff\xfe\n") == "farm.yaml:2: not UTF-8 text");
  CHECK(syntax_error(std::string("farm: a\n\0", 9)) == "farm.yaml:2: holds a zero byte: not a text file");
}

TEST_CASE("a long or unprintable value is shown cut and in one line") {
  CHECK(config::in_quotes("a\nb") == "'a?b'");
  CHECK(config::in_quotes(std::string(100, 'x')) == "'" + std::string(60, 'x') + "…'");
}

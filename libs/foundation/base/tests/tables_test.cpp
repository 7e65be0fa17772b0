#include "weir_catch.hpp"
#include <weir/base/decision_kind.hpp>
#include <weir/base/fragment_status.hpp>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace weir;

namespace {

template <typename Kind>
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (std::uint8_t value = 0; name(static_cast<Kind>(value)) != "unknown"; ++value) {
    all.emplace_back(name(static_cast<Kind>(value)));
  }
  return all;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string python_tuple(const std::string& variable, const std::vector<std::string>& values) {
  std::string text = variable + " = (\n";
  for (const std::string& value : values) text += "    \"" + value + "\",\n";
  return text + ")\n";
}

std::string python_tables() {
  return "\"\"\"Names of the numbers in slice records. Rendered by base_test from libs/foundation/base: do "
         "not "
         "edit.\"\"\"\n\n" +
         python_tuple("STATUS", names<FragmentStatus>()) + python_tuple("REASON", names<MissingReason>()) +
         python_tuple("DECISION", names<DecisionKind>());
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

TEST_CASE("the Python package has the names of every status, reason and decision") {
  const std::string rendered = python_tables();
  if (read(WEIR_SOURCE_DIR "/python/weir_daq/_tables.py") != rendered) {
    const auto written = std::filesystem::path(WEIR_BIN_DIR).parent_path() / "_tables.py";
    std::ofstream(written) << rendered;
    FAIL("the tables have changed: copy " << written.string() << " to python/weir_daq/_tables.py");
  }
}

TEST_CASE("the filter ABI has the number of every status and reason") {
  const std::string header = read(WEIR_SOURCE_DIR "/libs/abi/filter_abi/include/weir/weir_filter.h");
  const auto check_all = [&](const std::string& prefix, const std::vector<std::string>& all) {
    for (std::size_t value = 0; value < all.size(); ++value) {
      const std::string entry = "  " + prefix + upper(all[value]) + " = " + std::to_string(value);
      const std::size_t at = header.find(entry);
      INFO(entry);
      REQUIRE(at != std::string::npos);
      CHECK(std::isdigit(static_cast<unsigned char>(header[at + entry.size()])) == 0);
    }
  };
  REQUIRE(names<MissingReason>().size() == kMissingReasons);
  check_all("WEIR_FRAGMENT_", names<FragmentStatus>());
  check_all("WEIR_MISSING_", names<MissingReason>());
}

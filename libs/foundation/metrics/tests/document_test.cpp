#include "weir_catch.hpp"
#include <weir/metrics/table.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace weir::metrics;

TEST_CASE("docs/metrics.md is rendered from the table") {
  std::ifstream stream(WEIR_SOURCE_DIR "/docs/metrics.md");
  std::ostringstream committed;
  committed << stream.rdbuf();
  const std::string rendered = document();
  if (committed.str() != rendered) {
    const auto written = std::filesystem::path(WEIR_BIN_DIR).parent_path() / "metrics.md";
    std::ofstream(written) << rendered;
    FAIL("the table has changed: copy " << written.string() << " to docs/metrics.md");
  }
}

TEST_CASE("each metric has a unique name, as Prometheus' manual recommends") {
  std::set<std::string_view> names;
  for (const Entry& entry : kTable) {
    INFO(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK(entry.name.starts_with("weir_"));
    CHECK(entry.name.ends_with("_total") == (entry.kind == Entry::Kind::counter));
    CHECK((entry.is_family()) == !entry.label.empty());
    CHECK(entry.help.ends_with("."));
  }
}

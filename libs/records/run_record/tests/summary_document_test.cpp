// Compares docs/summary.md with the keys of a real summary.
#include "weir_catch.hpp"
#include <weir/base/fragment_status.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/slice_rows/words.hpp>
#include <weir/source/fragment_buffer.hpp>

#include <boost/json.hpp>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace weir::run_record {
namespace {

namespace json = boost::json;
using Names = std::set<std::string>;

// Returns every `code` in the first column of the page's tables, by that column's heading.
std::map<std::string, Names> first_columns() {
  std::map<std::string, Names> tables;
  std::ifstream page(WEIR_SOURCE_DIR "/docs/summary.md");
  std::string heading;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ")) {
      heading.clear();
      continue;
    }
    const std::string cell = line.substr(2, line.find(" |", 2) - 2);
    if (heading.empty()) {
      heading = cell;
      continue;
    }
    for (std::size_t begin = cell.find('`'); begin != cell.npos;) {
      const std::size_t end = cell.find('`', begin + 1);
      if (end == cell.npos) break;
      const bool fresh = tables[heading].insert(cell.substr(begin + 1, end - begin - 1)).second;
      INFO(cell);
      CHECK(fresh);
      begin = cell.find('`', end + 1);
    }
  }
  return tables;
}

// Adds the paths of all keys: "latency_us.p50", "files[].path". Objects keyed by reason or name are left out.
void add_keys(const json::value& value, const std::string& path, Names& keys) {
  static const Names by_name = {"vetoed",
                                "discarded",
                                "fragments.missing",
                                "fragments.dropped",
                                "sources.rows[].missing",
                                "sources.rows[].dropped",
                                "source",
                                "filter",
                                "filter_workers",
                                "prefetch",
                                "pieces",
                                "numbers",
                                "steps_compared",
                                "switches[].dropped"};
  if (const json::array* array = value.if_array()) {
    for (const json::value& entry : *array) add_keys(entry, path + "[]", keys);
  } else if (const json::object* object = value.if_object(); object != nullptr && !by_name.contains(path)) {
    for (const auto& [key, inner] : *object) {
      const std::string name = path.empty() ? std::string(key) : path + "." + std::string(key);
      if (name != "fragments") keys.insert(name);  // the page lists its keys one by one
      add_keys(inner, name, keys);
    }
  }
}

template <class Reason>
Names reasons(std::size_t count, std::size_t first) {
  Names names;
  for (std::size_t i = first; i < count; ++i) names.emplace(name(static_cast<Reason>(i)));
  return names;
}

TEST_CASE("docs/summary.md has every key of the summary, and no other") {
  Summary summary;
  summary.ledger.emplace_back();
  summary.steps.emplace_back();
  summary.cpu_of_dcms.emplace_back();
  summary.loops.emplace_back();
  summary.decision_times.above.emplace_back();
  summary.files.emplace_back();
  summary.clocks.emplace_back();
  summary.bursts.emplace_back();
  summary.burst_files.emplace_back();
  summary.processes.emplace_back();
  summary.ran.emplace_back();
  summary.lab.emplace().relay.emplace();
  summary.after_1s.emplace();
  summary.ports.emplace_back();
  summary.groups.emplace_back().decision_times.above.emplace_back();
  summary.foreign.emplace_back();
  summary.disturbed.emplace_back();
  summary.changes.emplace_back();
  summary.outages.emplace_back();
  summary.cuts.emplace_back();
  summary.plane_moves.emplace_back();
  summary.switches.emplace_back().add_rings();
  summary.truth.emplace().bins.emplace_back();
  summary.sources.add_source(1);
  Names keys;
  add_keys(json::parse(to_json(summary)), "", keys);
  CHECK(first_columns()["key"] == keys);
}

TEST_CASE("docs/summary.md has every reason that the summary can name, and no other") {
  auto tables = first_columns();
  CHECK(tables["reason in `vetoed`"] == reasons<slice_rows::VetoReason>(slice_rows::kVetoReasons, 1));
  CHECK(tables["reason in `discarded`"] ==
        reasons<slice_rows::DiscardReason>(slice_rows::kDiscardReasons, 1));
  CHECK(tables["reason in `fragments.missing`"] == reasons<MissingReason>(kMissingReasons, 1));
  CHECK(tables["reason in `fragments.dropped`"] == reasons<source::DropReason>(source::kDropReasons, 0));
}

}  // namespace
}  // namespace weir::run_record

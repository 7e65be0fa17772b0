#include "split_farm.hpp"

#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <set>

namespace weir::system_test {

std::string half_forwarded(const TemporaryFolder& folder, Built built) {
  const std::string plugin = std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/stumbles.so";
  return folder.write("split.yaml",
                      "farm: split\n"
                      "trigger: {mode: rate, rate_hz: 1000}\n"
                      "supervisor: {status_interval_ms: 100}\n"
                      "source: {size_bytes: 700}\n"
                      "readout: {count: 2, sources_per_readout: 4}\n"
                      "filter: {plugin: '" +
                          plugin +
                          "'}\n"
                          "dcm:\n"
                          "  nodes:\n"
                          "    - {name: 'near-{i}', count: 2, group: near}\n"
                          "    - {name: 'far-{i}', count: 2, group: far}\n"
                          "  groups:\n"
                          "    - {name: near, forward: [far], filter: {parameters: {to: far}}}\n"
                          "    - {name: far, fetch: " +
                          (built == Built::fetched ? "builder" : "readouts") + "}\n");
}

void check_half_forwarded(const TemporaryFolder& folder, const FarmEnd& end, std::uint64_t slices) {
  CHECK(end.summary.count("triggered") == slices);
  CHECK(end.summary.count("stored") == slices / 2);
  CHECK(end.summary.count("rejected") == slices / 2);
  CHECK(end.summary.count("stored_incomplete") == 0);
  CHECK(end.summary.group("near").count("forwarded") == slices / 2);
  CHECK(end.summary.group("far").count("arrived") == slices / 2);
  CHECK(end.summary.group("far").count("stored") == slices / 4);
  const StoredRun run(folder / "out");
  const std::set<std::uint64_t> ids = run.ids();
  CHECK(ids.size() == slices / 2);
  const auto rejected = [](std::uint64_t id) { return id % 2 != 0; };
  CHECK(std::none_of(ids.begin(), ids.end(), rejected));
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.fragments == slices / 2 * 8);
}

}  // namespace weir::system_test

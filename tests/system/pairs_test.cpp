// The table of pairs: short farms in which each possible pair of a filter's language and isolation, its
// steps, `build.by`, the way its slices are built, deaths, alerts, modes of a run, networks, kinds of
// requests and files occurs. Their decisions, histograms and alerts equal those of `weir filter try` on a
// recording of the same data. By time no two runs have the same data: there the run keeps the slices that its
// filter refuses, and is the recording. WEIR_PAIRS=N,M: these rows alone; WEIR_PAIRS=list shows them.
#include "farm_run.hpp"
#include "kept_farm.hpp"
#include "pair_table.hpp"
#include "python_here.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/pieces.hpp>
#include <weir/security/farm_authenticator.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace {

using namespace weir;
using namespace weir::system_test;
namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t kSlices = 600;
constexpr std::uint64_t kSources = 8;
constexpr std::uint64_t kDiesEvery = 50;
constexpr std::uint64_t kAlerts[] = {211, 450};
constexpr std::uint64_t kEarlyAlert = 3;  // before anything happens to the farm
constexpr Seconds kPatience{150};

enum : std::size_t {
  kFilter,
  kSteps,
  kBuilding,
  kDeath,
  kAlert,
  kMode,
  kBy,
  kNetwork,
  kRequests,
  kFiles,
  kOperator
};

const std::vector<Column>& columns() {
  static const std::vector<Column> all{
      {"filter", {"c++", "c++ in workers", "python", "python in batches"}},
      {"steps", {"1", "3", "3 with prefetch"}},
      {"building", {"readouts", "forwarded", "fetched", "remote", "remote and fetched"}},
      {"death", {"none", "worker", "dcm", "supervisor", "writer"}},
      {"alerts", {"none", "one", "two"}},
      {"mode", {"pull", "push", "push in order", "two runs"}},
      {"build.by", {"trigger", "number", "time"}},
      {"network", {"one", "planes", "keys", "tls"}},
      {"requests", {"as completed", "by id", "in ranges"}},
      {"files", {"one writer", "two writers, short files"}},
      {"operator", {"none", "pauses", "removes and adds a dcm"}},
  };
  return all;
}

std::string_view word(const Row& row, std::size_t column) { return columns()[column].values[row[column]]; }

std::size_t index_of(std::size_t column, std::string_view value) {
  const std::vector<std::string_view>& values = columns()[column].values;
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

// The pairs that cannot be, and why.
std::string_view impossible(const Pair& pair) {
  const auto is = [&](std::size_t column, std::string_view value) {
    return (pair.first.column == column && columns()[column].values[pair.first.index] == value) ||
           (pair.second.column == column && columns()[column].values[pair.second.index] == value);
  };
  if (is(kFilter, "c++") && is(kDeath, "worker")) return "a filter in the DCM's process has no worker";
  const bool pushes = is(kMode, "push") || is(kMode, "push in order");
  if (pushes && pair.first.column == kBuilding && !is(kBuilding, "readouts"))
    return "dcm.groups: needs run.mode 'pull'";
  if (is(kNetwork, "planes") && (is(kBuilding, "remote") || is(kBuilding, "remote and fetched")))
    return "network.planes: remote groups";
  if (is(kDeath, "dcm") && is(kOperator, "removes and adds a dcm")) return "no DCM would be left";
  return {};
}

bool is_possible(const Pair& pair) { return impossible(pair).empty(); }

const PairTable& table() {
  static const PairTable rows(columns(), is_possible);
  return rows;
}

std::string describe_row(const Row& row) {
  std::string text;
  for (std::size_t column = 0; column < row.size(); ++column)
    text += (column == 0 ? "" : ", ") + std::string(columns()[column].name) + ": " +
            std::string(word(row, column));
  return text;
}

// --- one row ---

std::string plugin_of(const Row& row) {
  return word(row, kFilter).starts_with("python") ? std::string(WEIR_TEST_SOURCE_DIR) + "/plugins/pairs.py"
                                                  : std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/pairs.so";
}

int steps_of(const Row& row) { return word(row, kSteps) == "1" ? 1 : 3; }
bool has_groups(const Row& row) { return word(row, kBuilding) != "readouts"; }
bool is_in_order(const Row& row) { return word(row, kMode) == "push in order"; }
// Whether one instance of the filter gets all slices of a DCM, and no slice that another DCM has lost.
bool sees_order(const Row& row) {
  return is_in_order(row) && word(row, kFilter) == "c++" &&
         (word(row, kDeath) == "none" || word(row, kDeath) == "writer");
}
bool is_pushed(const Row& row) { return word(row, kMode) == "push" || is_in_order(row); }
bool is_by_time(const Row& row) { return word(row, kBy) == "time"; }
bool pauses(const Row& row) { return word(row, kOperator) == "pauses"; }
// Whether the run keeps all slices, since which ones it has is not known before.
bool keeps_all(const Row& row) { return is_by_time(row) || (word(row, kBy) == "number" && pauses(row)); }
// The ids of slices for which the filter gives an alert. By time and by number, a pause, or a time without a
// supervisor, has no slices.
std::set<std::uint64_t> alerts_of(const Row& row) {
  std::set<std::uint64_t> ids(std::begin(kAlerts), std::begin(kAlerts) + row[kAlert]);
  const bool misses =
      (is_by_time(row) && word(row, kDeath) == "supervisor") || (keeps_all(row) && pauses(row));
  if (misses && !ids.empty()) ids = {kEarlyAlert};
  return ids;
}

// The filter's parameters that decide; the others are the farm's.
std::vector<std::string> deciding(const Row& row) {
  std::vector<std::string> parameters{"steps=" + std::to_string(steps_of(row))};
  if (word(row, kFilter) == "python in batches") parameters.push_back("batches=true");
  return parameters;
}

std::string filter_of(const Row& row, const std::vector<std::string>& parameters) {
  std::string text = "{plugin: '" + plugin_of(row) + "', timeout_ms: 40000, isolation: ";
  text += word(row, kFilter) == "c++" ? "in-process" : "worker";
  text += ", workers: {count: 2, spare: 1, start_timeout_ms: 30000}, parameters: {";
  for (const std::string& parameter : parameters) {
    const std::size_t equals = parameter.find('=');
    text += parameter.substr(0, equals) + ": '" + parameter.substr(equals + 1) + "', ";
  }
  return text + "}}";
}

const std::string kTriggers = "trigger: {mode: rate, rate_hz: 500}\n";
const std::string kDummies =
    "source:\n  distribution: uniform\n  size_bytes_min: 0\n  size_bytes_max: 3000\n";
const std::string kFarm =
    "farm: pairs\n"
    "supervisor: {status_interval_ms: 100, lease_ms: 200000, attempts_max: 6}\n";
const std::string kGroups =
    "  groups:\n"
    "    - {name: first, ranges: ['1-2']}\n"
    "    - {name: second, ranges: ['3-5']}\n"
    "    - {name: third, ranges: ['6-8']}\n";

std::string data_of(const Row& row) {
  const std::string_view by = word(row, kBy);
  const std::string readouts = std::string("readout: {count: 2, sources_per_readout: 4") +
                               (word(row, kNetwork) == "planes" ? ", host: 127.1.0.1" : "");
  if (by == "trigger") return kFarm + kTriggers + kDummies + kGroups + readouts + "}\n";
  const std::string plugin =
      WEIR_SYSTEM_PLUGIN_DIR + std::string(by == "number" ? "/counts.so" : "/clocks.so");
  const std::string source = "source:\n  kind: plugin\n  plugin: '" + plugin + "'\n  wait_ms: 40000\n";
  // No trigger has a rate by number, from which slots could be made.
  const bool direct = by == "number" && is_pushed(row);
  return kFarm +
         (by == "number" ? "build: {by: number}\n"
                         : "trigger: {mode: clock, slice_ms: 2.5}\nbuild: {by: time, overlap_us: 300}\n") +
         source + kGroups + readouts + (direct ? ", shaper: direct}\n" : "}\n");
}

std::string network_of(const TemporaryFolder& folder, const Row& row) {
  const std::string_view network = word(row, kNetwork);
  if (network == "one") return {};
  if (network == "planes") {
    return "network:\n  planes:\n    - {name: a, network: 127.1.0.0/16}\n"
           "    - {name: b, network: 127.2.0.0/16}\n";
  }
  const std::string key = folder / "farm.key";
  if (!fs::exists(key)) {
    const security::FarmKeys keys{{security::make_farm_key("now")}};
    REQUIRE(security::write_new_file(key, security::to_text(keys), true) == "");
  }
  return "security: {key_file: '" + key + (network == "tls" ? "', tls: true}\n" : "'}\n");
}

std::string farm_of(const TemporaryFolder& folder, const Row& row) {
  std::string text = data_of(row);
  std::vector<std::string> parameters = deciding(row);
  if (keeps_all(row)) parameters.push_back("keep=true");
  if (sees_order(row)) parameters.push_back("ascending=true");
  if (word(row, kDeath) == "worker") {
    fs::create_directories(folder / "deaths");
    parameters.push_back("dies_in=" + (folder / "deaths"));
  }
  if (const std::set<std::uint64_t> alerts = alerts_of(row); !alerts.empty()) {
    const std::string ids = fmt::format("{}", fmt::join(alerts, ","));
    parameters.push_back("alerts_at=" + ids);
    text += "burst: {buffer_bytes: 64MiB, filter_alert_s: 0.2}\n";
  }
  text += network_of(folder, row);
  if (word(row, kFiles) != "one writer") text += "writer: {count: 2, file_bytes_max: 200000}\n";
  text += "filter: " + filter_of(row, parameters) + "\n";
  std::string dcm = "dcm:\n  deadline_ms: 40000\n  grace_ms: 40000\n";
  if (word(row, kRequests) == "by id") dcm += "  order: id\n";
  if (word(row, kRequests) == "in ranges") dcm += "  range_bytes: 700\n";
  // In order, late fragments are missing. Here none is late, because lateness depends on time.
  if (is_in_order(row)) dcm += "  incomplete: order\n  push_wait_ms: 40000\n  push_active_slices: 1000\n";
  if (!has_groups(row)) {
    dcm += "  count: 2\n";
  } else {
    const std::string_view building = word(row, kBuilding);
    dcm +=
        "  nodes:\n    - {name: near, group: near}\n    - {name: 'far-{i}', count: 2, group: far}\n  "
        "groups:\n";
    dcm += "    - {name: near, forward: [far], filter: " + filter_of(row, {"to=far"}) + "}\n";
    dcm += "    - {name: far";
    if (building.starts_with("remote")) dcm += ", remote: true";
    if (building.ends_with("fetched")) dcm += ", fetch: builder";
    dcm += "}\n";
  }
  if (word(row, kSteps) == "3 with prefetch")
    text.insert(text.rfind("}\n"), ", steps: [{prefetch: [second]}, {prefetch: [third]}]");
  text += dcm;
  text += is_pushed(row) ? "run: {mode: push, slices: " : "run: {slices: ";
  return folder.write("pairs.yaml", text + std::to_string(kSlices) + "}\n");
}

std::string victim_of(const Row& row) {
  const std::string_view death = word(row, kDeath);
  if (death == "supervisor") return "supervisor";
  if (death == "writer") return "writer-0";
  if (death == "dcm") return has_groups(row) ? "far-0" : "dcm-0";
  return {};
}

// --- expectations ---

struct Tried {
  std::set<std::uint64_t> accepted;
  std::set<std::uint64_t> rejected;
  json::value histogram;
};

// Two runs of the same data, all of it stored.
const std::string& recordings() {
  static const TemporaryFolder folder;
  static const std::string out = [] {
    const std::string file =
        folder.write("recording.yaml", kFarm + kTriggers + kDummies + kGroups +
                                           "readout: {count: 2, sources_per_readout: 4}\n"
                                           "dcm: {deadline_ms: 40000, grace_ms: 40000}\nfilter: "
                                           "{plugin: accept-all}\nrun: {slices: " +
                                           std::to_string(kSlices) + "}\n");
    for (int run = 1; run <= 2; ++run) {
      const std::string place = folder / ("run-" + std::to_string(run));
      const FarmEnd end =
          FarmRun(folder, file, sets({"run.number=" + std::to_string(run), "trigger.mode=max"}), place)
              .finish(kPatience);
      if (end.status != 0) throw std::runtime_error("no recording: " + describe(end));
    }
    return folder.path().string();
  }();
  return out;
}

Tried try_filter(const TemporaryFolder& folder, const Row& row, int run) {
  std::vector<std::string> words{"filter", "try", plugin_of(row)};
  if (keeps_all(row)) {
    words.insert(words.end(), {folder / "out", "--run", std::to_string(run)});
  } else {
    words.push_back(recordings() + "/run-" + std::to_string(run));
  }
  words.insert(words.end(), {"--list", "--json", "--farm", folder / "pairs.yaml"});
  for (const std::string& parameter : deciding(row)) words.insert(words.end(), {"--set", parameter});
  // The farm's file has parameters of deaths and alerts, which are not for here.
  for (const char* none : {"dies_in=", "alerts_at=", "keep=false"})
    words.insert(words.end(), {"--set", none});
  if (sees_order(row)) words.insert(words.end(), {"--set", "ascending=false"});
  const CommandEnd end = run_command(folder, "weir", words);
  INFO(end.err);
  REQUIRE(end.status == 0);
  Tried tried;
  std::istringstream lines(end.out);
  for (std::string line; std::getline(lines, line);) {
    const json::object object = json::parse(line).as_object();
    if (const json::value* slice = object.if_contains("slice")) {
      const std::uint64_t id = std::stoull(slice->as_string().c_str());
      (object.at("verdict").as_string() == "accept" ? tried.accepted : tried.rejected).insert(id);
    } else {
      tried.histogram = object.at("booked_histograms");
    }
  }
  return tried;
}

// --- the checks ---

// Returns the first fragment with pieces that are not of its window; empty: none.
std::string wrong_window(const StoredRun& run) {
  constexpr std::int64_t kSignalNs = 700'000;
  std::string wrong;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    for (std::size_t i = 0; i < slice.fragment_count() && wrong.empty(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      if (fragment.record.status == FragmentStatus::not_requested) continue;  // kept by an earlier step
      const auto pieces = FragmentPieces::read(fragment.bytes);
      bool good = fragment.record.status == FragmentStatus::ok && pieces && !pieces->empty() &&
                  pieces->time_ns() == slice.head().trigger_time;
      for (auto at = good ? pieces->begin() : FragmentPieces::Iterator(); good && at != pieces->end(); ++at) {
        const FragmentPiece piece = *at;
        const auto signal = static_cast<std::int64_t>(load_le<std::uint64_t>(piece.bytes.data()));
        good = piece.offset_ns >= -pieces->before_ns() &&
               piece.offset_ns < pieces->duration_ns() + pieces->after_ns() &&
               (signal == 0 || pieces->time_ns() + piece.offset_ns == signal * kSignalNs);
      }
      if (!good)
        wrong = "slice " + std::to_string(slice.head().slice.value) + " source " +
                std::to_string(fragment.record.source.value);
    }
  });
  return wrong;
}

std::string wrong_data(const Row& row, const StoredRun& run) {
  return is_by_time(row) ? wrong_window(run) : check_dummy_data(run).wrong;
}

void check_alerts(const Row& row, const std::string& out, int run, const Summary& summary) {
  const json::value* bursts = summary.json().as_object().if_contains("bursts");
  const std::size_t found = bursts == nullptr ? 0 : bursts->as_array().size();
  std::set<std::uint64_t> alerts = alerts_of(row);
  CHECK(found == alerts.size());
  if (found != alerts.size()) return;
  for (std::size_t i = 0; i < found; ++i) {
    const json::value& burst = bursts->at(i);
    INFO(json::serialize(burst));
    const auto count = [&](const char* key) { return burst.at(key).to_number<std::uint64_t>(); };
    CHECK(count("number") == i + 1);
    // Two DCMs may send theirs in any order.
    const std::string reason(burst.at("reason").as_string());
    const auto alert = std::find_if(alerts.begin(), alerts.end(), [&](std::uint64_t slice) {
      return reason.ends_with("slice " + std::to_string(slice));
    });
    REQUIRE(alert != alerts.end());
    const std::uint64_t asked_by = *alert;
    alerts.erase(alert);
    const StoredRun saved(out + "/run-00000" + std::to_string(run) + "-burst-" + std::to_string(i + 1));
    // A writer that dies leaves its files open.
    const std::string problems = saved.problems();
    CHECK((problems.empty() || (word(row, kDeath) == "writer" && problems.ends_with("is not closed\n"))));
    const std::set<std::uint64_t> ids = saved.ids();
    CHECK(wrong_data(row, saved) == "");
    // A supervisor that has died does not know which DCM kept some slices (`not_kept`), and has others built
    // again.
    const bool restarted = word(row, kDeath) == "supervisor";
    CHECK((ids.size() == count("saved") || (restarted && ids.size() <= count("saved"))));
    CHECK(count("asked") + (restarted ? count("not_kept") : 0) > 0);
    if (word(row, kDeath) != "dcm") {  // it takes its ring along
      CHECK(ids.contains(asked_by));
      CHECK((count("saved") == count("asked") || (restarted && count("saved") >= count("asked"))));
    }
  }
}

void check_histogram(const Row& row, const std::string& out, int run, const Tried& tried) {
  const json::value document =
      json::parse(read_file(out + "/run-00000" + std::to_string(run) + "-histograms.json"));
  const json::value& all = document.at("histograms");
  REQUIRE(all.as_array().size() == 1);
  const json::value& expected = tried.histogram.at(0);
  CHECK(all.at(0).at("name") == expected.at("name"));
  if (word(row, kDeath) == "dcm" || word(row, kDeath) == "supervisor") {
    // A DCM that ends while the supervisor is dead cannot hand its histograms over.
    const bool may_miss = word(row, kOperator) == "removes and adds a dcm";
    CHECK(document.at("incomplete").as_array().size() >= 1);
    CHECK(document.at("incomplete").as_array().size() <= (may_miss ? 2 : 1));
    CHECK(all.at(0).at("entries").to_number<std::uint64_t>() <=
          expected.at("entries").to_number<std::uint64_t>());
    CHECK(all.at(0).at("entries").to_number<std::uint64_t>() > kSlices / 2);
    return;
  }
  CHECK(json::serialize(all.at(0).at("contents")) == json::serialize(expected.at("contents")));
  CHECK(all.at(0).at("entries").to_number<std::uint64_t>() ==
        expected.at("entries").to_number<std::uint64_t>());
}

void check_run(const TemporaryFolder& folder, const Row& row, const std::string& out, int run,
               const Summary& summary) {
  INFO("run " << run << ": " << json::serialize(summary.json().at("faults")));
  CHECK(summary.imbalance() == "");
  CHECK(summary.count("triggered") == kSlices);
  CHECK(summary.count_all("discarded") == 0);
  CHECK(summary.count("stored_incomplete") == 0);
  CHECK(summary.count("filter_workers.slices_poisoned") == 0);
  CHECK(summary.count("fragments.missing.overflow") == 0);
  const Tried tried = try_filter(folder, row, run);
  CHECK(tried.accepted.size() + tried.rejected.size() == kSlices);
  CHECK(tried.accepted.size() > kSlices / 4);
  CHECK(tried.rejected.size() > kSlices / 4);
  std::set<std::uint64_t> stored;
  std::set<std::uint64_t> refused;  // and kept
  std::string unfiltered;
  const StoredRun files(out);
  for (const storage::RunFileReader& file : files.files()) {
    if (file.header().run.value != static_cast<std::uint32_t>(run)) continue;
    for (const storage::IndexEntry& entry : file.entries())
      if (!entry.dead) stored.insert(entry.slice.value);
  }
  files.for_each_slice([&](const storage::SliceRecordView& slice) {
    const bool own = slice.head().run.value == static_cast<std::uint32_t>(run);
    if (keeps_all(row) && own && slice.filter_result().size() == 1) refused.insert(slice.head().slice.value);
    if (slice.head().decision != storage::DecisionKind::filter)
      unfiltered += std::to_string(slice.head().slice.value) + ": " +
                    std::string(reinterpret_cast<const char*>(slice.filter_result().data()),
                                std::min<std::size_t>(slice.filter_result().size(), 120)) +
                    "\n";
  });
  CHECK(unfiltered == "");
  CHECK(summary.count("stored") == stored.size());
  if (keeps_all(row)) {
    CHECK(stored.size() == kSlices);
    CHECK(refused == tried.rejected);
  } else {
    CHECK(stored == tried.accepted);
    CHECK(summary.count("rejected") == tried.rejected.size());
  }
  CHECK(wrong_data(row, files) == "");
  check_histogram(row, out, run, tried);
  check_alerts(row, out, run, summary);
}

// An operator's doings in the middle of a run, around the death of a process.
class Operator {
 public:
  Operator(const TemporaryFolder& folder, const Row& row, std::string at)
      : folder_(folder), row_(row), at_(std::move(at)) {}

  void begin() const {
    if (pauses(row_)) CHECK(told({"pause"}));
    if (removes()) CHECK(told({"remove", dcm()}));
  }
  // A supervisor that is away for the moment refuses. A run may be over by now.
  void end() const {
    if (pauses(row_)) CHECK(wait_until([&] { return told({"continue"}); }, Seconds(60)));
    if (removes()) (void)told({"add", dcm()});
  }

 private:
  [[nodiscard]] bool removes() const { return word(row_, kOperator) == "removes and adds a dcm"; }
  [[nodiscard]] std::string dcm() const { return has_groups(row_) ? "far-1" : "dcm-1"; }
  [[nodiscard]] bool told(std::vector<std::string> words) const {
    words.insert(words.begin(), {"ctl", "--connect", at_});
    return run_command(folder_, "weir", words).status == 0;
  }

  const TemporaryFolder& folder_;
  const Row& row_;
  std::string at_;
};

bool is_disturbed(const Row& row) { return !victim_of(row).empty() || word(row, kOperator) != "none"; }

void run_once(const TemporaryFolder& folder, const Row& row) {
  FarmRun run(folder, farm_of(folder, row), {});
  if (is_disturbed(row)) {
    REQUIRE(run.wait_for_data(100'000));
    const Operator hand(folder, row, run.control_at());
    hand.begin();
    if (const std::string victim = victim_of(row); !victim.empty()) REQUIRE(run.send_signal(victim, SIGKILL));
    hand.end();
  }
  const FarmEnd end = run.finish(kPatience);
  INFO(describe(end));
  if (word(row, kDeath) == "none") CHECK(end.status == 0);
  CHECK((end.status == 0 || end.status == 3));
  check_run(folder, row, folder / "out", 1, end.summary);
}

void run_twice(const TemporaryFolder& folder, const Row& row) {
  const std::string out = folder / "out";
  const std::string_view by = word(row, kBy);
  const std::string mode = by == "trigger" ? "rate" : by == "number" ? "max" : "clock";
  KeptFarm farm(folder, {"trigger.mode=" + mode, "trigger.rate_hz=500"}, farm_of(folder, row));
  for (const char* command : {"init", "configure"}) farm.must({command});
  for (int run = 1; run <= 2; ++run) {
    farm.must({"start"});
    if (is_disturbed(row)) {
      const auto begun = [&] {
        for (const auto& entry : fs::directory_iterator(out)) {
          const std::string name = entry.path().filename().string();
          if (name.find("run-00000" + std::to_string(run)) == 0 && name.find("writer") != name.npos &&
              entry.file_size() > 50'000)
            return true;
        }
        return false;
      };
      REQUIRE(wait_until(begun, Seconds(60)));
      const Operator hand(folder, row, farm.at());
      hand.begin();
      if (const std::string victim = victim_of(row); !victim.empty()) {
        const pid_t pid = farm.pid_of(victim);
        REQUIRE(pid != 0);
        REQUIRE(::kill(pid, SIGKILL) == 0);
      }
      hand.end();
    }
    const std::string record = out + "/run-00000" + std::to_string(run) + "-end.json";
    INFO(farm.out() << farm.process().err());
    REQUIRE(wait_until([&] { return fs::exists(record); }, kPatience));
    REQUIRE(wait_until([&] { return farm.status().at("state").as_string() == "ready"; }, Seconds(60)));
    if (word(row, kDeath) == "worker")
      fs::remove_all(folder / "deaths"), fs::create_directories(folder / "deaths");
    check_run(folder, row, out, run, Summary(json::parse(read_file(record))));
  }
  farm.must({"off"});
}

bool is_chosen(std::size_t row) {
  const char* chosen = std::getenv("WEIR_PAIRS");
  if (chosen == nullptr) return true;
  std::istringstream numbers(chosen);
  for (std::string number; std::getline(numbers, number, ',');)
    if (number == std::to_string(row)) return true;
  return false;
}

void run_rows(std::size_t part, std::size_t parts) {
  for (std::size_t i = part; i < table().rows().size(); i += parts) {
    const Row& row = table().rows()[i];
    if (!is_chosen(i)) continue;
    if (word(row, kFilter).starts_with("python") && !has_python()) continue;
    INFO("row " << i << ": " << describe_row(row));
    const TemporaryFolder folder;
    if (word(row, kMode) == "two runs") {
      run_twice(folder, row);
    } else {
      run_once(folder, row);
    }
  }
}

}  // namespace

TEST_CASE("each possible pair of values is in the table, and no impossible one") {
  std::set<Pair> in_table;
  for (std::size_t i = 0; i < table().rows().size(); ++i) {
    if (const char* chosen = std::getenv("WEIR_PAIRS");
        chosen != nullptr && std::string_view(chosen) == "list")
      std::printf("%zu: %s\n", i, describe_row(table().rows()[i]).c_str());
    for (const Pair& pair : PairTable::pairs_of(table().rows()[i])) in_table.insert(pair);
  }
  CHECK(in_table == possible_pairs(columns(), is_possible));
  CHECK(table().rows().size() <= 40);
}

TEST_CASE("pairs that cannot be are refused by weir check, with the reason") {
  const TemporaryFolder folder;
  for (const std::string_view mode : {"push", "push in order"}) {
    for (const std::string_view building : {"forwarded", "fetched", "remote"}) {
      Row row(columns().size(), 0);
      row[kBuilding] = index_of(kBuilding, building);
      row[kMode] = index_of(kMode, mode);
      const CommandEnd end = run_command(folder, "weir", {"check", farm_of(folder, row)});
      CHECK(end.status == 2);
      CHECK_THAT(end.err,
                 Catch::ContainsSubstring("dcm.groups") && Catch::ContainsSubstring("needs run.mode 'pull'"));
    }
  }
}

TEST_CASE("remote groups in planes are refused by weir check") {
  const TemporaryFolder folder;
  Row row(columns().size(), 0);
  row[kBuilding] = index_of(kBuilding, "remote");
  row[kNetwork] = index_of(kNetwork, "planes");
  const CommandEnd end = run_command(folder, "weir", {"check", farm_of(folder, row)});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("dcm.groups[1].remote"));
}

TEST_CASE("an order of requested fragments is refused by weir check, and one by number or by time is not") {
  const TemporaryFolder folder;
  for (std::size_t by = 0; by < columns()[kBy].values.size(); ++by) {
    Row row(columns().size(), 0);
    row[kBy] = by;
    row[kMode] = index_of(kMode, "push in order");
    const std::string file = farm_of(folder, row);
    CHECK(run_command(folder, "weir", {"check", file}).status == 0);
    const CommandEnd end = run_command(folder, "weir", {"check", file, "--set", "run.mode=pull"});
    CHECK(end.status == 2);
    CHECK_THAT(end.err, Catch::ContainsSubstring("dcm.incomplete: 'order' needs run.mode 'push'"));
  }
}

TEST_CASE("decisions do not depend on how a farm runs: first quarter of the pairs", "[.][quarter-1]") {
  run_rows(0, 4);
}
TEST_CASE("decisions do not depend on how a farm runs: second quarter of the pairs", "[.][quarter-2]") {
  run_rows(1, 4);
}
TEST_CASE("decisions do not depend on how a farm runs: third quarter of the pairs", "[.][quarter-3]") {
  run_rows(2, 4);
}
TEST_CASE("decisions do not depend on how a farm runs: last quarter of the pairs", "[.][quarter-4]") {
  run_rows(3, 4);
}

// Tests of the slices that a tap receives from a farm under run control.
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "process.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/pieces.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

using namespace weir::system_test;

namespace {

constexpr Seconds kPatience{90};

const std::vector<std::string> kNodes = {"supervisor", "writer-0",  "dcm-0",
                                         "dcm-1",      "readout-0", "readout-1"};

// A farm with a run in progress.
class TappedFarm {
 public:
  explicit TappedFarm(const TemporaryFolder& folder, const std::string& more = {})
      : farm_(folder,
              "farm: tapped\n"
              "trigger: {mode: rate, rate_hz: 500}\n"
              "source: {kind: dummy, size_bytes: 4000}\n"
              "supervisor: {lease_ms: 60000}\n"
              "readout: {count: 2, sources_per_readout: 2}\n"
              "dcm: {count: 2, deadline_ms: 20000, grace_ms: 20000}\n"
              "filter: {plugin: accept-all}\n"
              "writer: {count: 1}\n" +
                  more,
              kNodes) {
    farm_.begin_run();
  }

  [[nodiscard]] std::unique_ptr<Process> tap(const std::string& name,
                                             const std::vector<std::string>& arguments) const {
    return farm_.tap(name, arguments);
  }
  // The account of the run, once it is stopped.
  [[nodiscard]] Summary stop() const {
    farm_.stop_good();
    return Summary(farm_.record(1));
  }

 private:
  ControlledFarm farm_;
};

boost::json::value last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  return boost::json::parse(last);
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("a tap of a run gets slices as the sources made them, in a run file that verifies") {
  const TemporaryFolder folder;
  const TappedFarm farm(folder);
  std::filesystem::create_directory(folder / "raw");
  std::filesystem::create_directory(folder / "accepted");
  const auto raw = farm.tap("raw", {"--count", "50", "--out", folder / "raw/tapped.weir"});
  const auto accepted = farm.tap("accepted", {"--stream", "accepted", "--every", "3", "--source", "2",
                                              "--count", "20", "--out", folder / "accepted/tapped.weir"});
  INFO(raw->err() << accepted->err());
  CHECK(raw->wait(kPatience) == 0);
  CHECK(accepted->wait(kPatience) == 0);

  const StoredRun of_raw(folder / "raw");
  CHECK(of_raw.problems() == "");
  const DummyCheck whole = check_dummy_data(of_raw);
  CHECK(whole.wrong == "");
  CHECK(whole.slices == 50);
  CHECK(whole.fragments == 200);
  of_raw.for_each_slice([](const weir::storage::SliceRecordView& slice) {
    CHECK(slice.head().decision == weir::storage::DecisionKind::undecided);
    CHECK(slice.head().stream_mask == 0);
  });

  const StoredRun of_accepted(folder / "accepted");
  CHECK(of_accepted.problems() == "");
  std::size_t slices = 0;
  of_accepted.for_each_slice([&](const weir::storage::SliceRecordView& slice) {
    ++slices;
    CHECK(slice.head().decision == weir::storage::DecisionKind::filter);
    REQUIRE(slice.fragment_count() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      const weir::storage::FragmentView fragment = slice.fragment(i);
      CHECK(fragment.record.kept == (fragment.record.source.value == 2));
      CHECK(fragment.bytes.empty() != fragment.record.kept);
    }
  });
  CHECK(slices == 20);

  const Summary summary = farm.stop();
  INFO(summary.imbalance());
  CHECK(summary.balanced());
}

TEST_CASE("a tap that is stopped loses its own samples, and neither the run nor another tap stops for it") {
  const TemporaryFolder folder;
  const TappedFarm farm(folder,
                        "tap: {lease_s: 60, rate_bytes_max: 100000000, farm_rate_bytes_max: 200000000}\n");
  const auto stopped = farm.tap("stopped", {"--json"});
  REQUIRE(wait_until([&] { return lines_in(stopped->out()) > 10; }, kPatience));
  stopped->send_signal(SIGSTOP);
  // More than fits run control's queue, the stopped client's sockets and its queue.
  const auto other = farm.tap("other", {"--json", "--count", "5000"});
  CHECK(other->wait(kPatience) == 0);
  stopped->send_signal(SIGCONT);
  const std::size_t before = lines_in(stopped->out());
  CHECK(wait_until([&] { return lines_in(stopped->out()) > before + 3000; }, kPatience));
  stopped->send_signal(SIGINT);
  INFO(stopped->err());
  CHECK(stopped->wait(kPatience) == 0);
  const boost::json::value account = last_line(stopped->out());
  CHECK(account.at("lost").to_number<std::uint64_t>() > 0);
  CHECK(account.at("malformed").to_number<std::uint64_t>() == 0);
  CHECK(last_line(other->out()).at("samples").to_number<std::uint64_t>() == 5000);

  const Summary summary = farm.stop();
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  CHECK(summary.count("triggered") > 5000);
  CHECK(summary.count("stored") == summary.count("triggered"));
}

TEST_CASE("a tap of windows that overlap has the data of a border in both slices, with their mark") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder,
                            "farm: clocks\ntrigger: {mode: clock, slice_ms: 10}\n"
                            "build: {by: time, overlap_us: 2000}\n"
                            "source: {kind: plugin, plugin: '" WEIR_SYSTEM_PLUGIN_DIR
                            "/clocks.so', parameters: {signal_us: 700}}\n"
                            "supervisor: {lease_ms: 60000}\nreadout: {count: 2, sources_per_readout: 2}\n"
                            "dcm: {count: 2, deadline_ms: 20000}\nwriter: {count: 1}\n",
                            kNodes);
  farm.begin_run();
  std::filesystem::create_directory(folder / "raw");
  const auto tap = farm.tap("raw", {"--count", "60", "--out", folder / "raw/tapped.weir"});
  INFO(tap->err());
  CHECK(tap->wait(kPatience) == 0);
  farm.stop_good();

  const StoredRun tapped(folder / "raw");
  CHECK(tapped.problems() == "");
  std::map<std::uint64_t, std::set<std::uint64_t>> signals;     // of source 1, by slice
  std::map<std::uint64_t, std::set<std::uint64_t>> at_the_end;  // of these, in the border with the next one
  std::size_t wrong_marks = 0;
  tapped.for_each_slice([&](const weir::storage::SliceRecordView& slice) {
    const auto pieces = weir::FragmentPieces::read(slice.fragment(0).bytes);
    REQUIRE(pieces);
    CHECK(pieces->before_ns() == 2'000'000);
    std::set<std::uint64_t>& here = signals[slice.head().slice.value];
    for (const weir::FragmentPiece& piece : *pieces) {
      const auto signal = weir::load_le<std::uint64_t>(piece.bytes.data());
      if (signal == 0) continue;  // noise
      here.insert(signal);
      const std::int64_t from_end = pieces->duration_ns() - piece.offset_ns;
      if (from_end <= 2'000'000) at_the_end[slice.head().slice.value].insert(signal);
      const bool near = from_end <= 2'000'000 || piece.offset_ns < 2'000'000;
      wrong_marks += piece.border == near ? 0 : 1;
    }
  });
  CHECK(wrong_marks == 0);
  std::size_t in_both = 0;
  for (const auto& [slice, ends] : at_the_end) {
    const auto next = signals.find(slice + 1);
    if (next == signals.end()) continue;
    for (const std::uint64_t signal : ends) {
      CAPTURE(slice, signal);
      CHECK(next->second.contains(signal));
      ++in_both;
    }
  }
  CHECK(in_both >= 50);
}

TEST_CASE("a tap of an unknown stream is refused with the names of the known ones") {
  const TemporaryFolder folder;
  const TappedFarm farm(folder);
  const auto tap = farm.tap("wrong", {"--stream", "cooked"});
  CHECK(tap->wait(kPatience) == 3);
  CHECK(tap->err().find("no stream 'cooked'; there are raw, accepted, default, debug") != std::string::npos);
  CHECK(farm.stop().balanced());
}

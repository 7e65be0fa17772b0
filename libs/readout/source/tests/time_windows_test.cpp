#include "buffer_support.hpp"
#include "weir_catch.hpp"
#include <weir/pieces.hpp>
#include <weir/source/time_windows.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

using namespace weir;
using namespace weir::source;

namespace {

Piece moment(UtcNs time) { return {time, 0, FragmentStatus::ok, {}, nullptr}; }

// Also read by python/tests/test_pieces.py.
std::vector<std::byte> golden_window() {
  std::ifstream file(std::string(WEIR_TEST_SOURCE_DIR) + "/tests/golden/window.bin", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  REQUIRE(text.size() == 117);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

constexpr UtcNs kStart = 1'700'000'000 * kSecond;

}  // namespace

TEST_CASE("a window's bytes are the golden ones") {
  const std::string text = "abcde";
  const auto bytes = std::as_bytes(std::span(text));
  const Piece first{995, 0, FragmentStatus::ok, bytes.first(2), nullptr};
  const Piece second{1050, 3, FragmentStatus::truncated, {}, nullptr};
  const Piece third{1095, 0, FragmentStatus::ok, bytes.subspan(2), nullptr};
  const Piece* const pieces[] = {&first, &second, &third};
  std::vector<std::byte> written(encoded_bytes(pieces));
  encode_pieces({SliceId(1), 1000, 100, 10, 10}, pieces, written.data());
  CHECK(written == golden_window());
}

TEST_CASE("damaged windows are not read, and never beyond their bytes") {
  const std::vector<std::byte> golden = golden_window();
  REQUIRE(FragmentPieces::read(golden));
  for (std::size_t length = 0; length < golden.size(); ++length) {
    const std::vector<std::byte> cut(golden.begin(), golden.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_FALSE(FragmentPieces::read(cut));
  }
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> damaged = golden;
    for (int n = 0; n < 3; ++n) damaged[random() % 40 + (i % 2) * 60] = static_cast<std::byte>(random());
    const auto all = FragmentPieces::read(damaged);
    if (!all) continue;
    std::size_t bytes = 0;
    for (const FragmentPiece& piece : *all) bytes += piece.bytes.size();
    CHECK(bytes == 5);
  }
}

TEST_CASE("events have a window before and after their trigger, time slices an overlap on both sides") {
  WindowSettings settings;
  settings.overlap_ns = 5;
  settings.before_ns = 20;
  settings.after_ns = 30;
  const TimeWindow event = window_of({SliceId(1), 1000, 0, {}}, settings);
  CHECK(event.begin() == 980);
  CHECK(event.end() == 1030);
  const TimeWindow slice = window_of({SliceId(1), 1000, 100, {}}, settings);
  CHECK(slice.begin() == 995);
  CHECK(slice.end() == 1105);
}

TEST_CASE("offsets are added to times and to progress, and a time that overflows is refused") {
  WindowSettings settings;
  settings.offsets[SourceId(2)] = -1000;
  const SourceId ids[] = {SourceId(1), SourceId(2)};
  TimeWindows windows(ids, settings);
  windows.begin_run({});
  const Trigger slice{SliceId(1), 5000, 100, {}};
  windows.announced({&slice, 1});
  windows.add(SourceId(1), moment(5050), 9000);
  windows.add(SourceId(2), moment(6050), 9000);
  windows.add(SourceId(2), moment(INT64_MIN), 9000);
  windows.pass(SourceId(1), 5100, false, 9000);
  windows.pass(SourceId(2), 5100, false, 9000);
  CHECK(windows.take_made().size() == 1);
  windows.pass(SourceId(2), 6100, false, 9000);
  const auto made = windows.take_made();
  REQUIRE(made.size() == 1);
  CHECK(FragmentPieces::read(made[0].fragment.bytes)->size() == 1);
  CHECK(windows.counters().dropped[static_cast<std::size_t>(PieceDrop::bad_time)] == 1);
  CHECK(windows.counters().received == 3);
}

TEST_CASE("a slice that is given up or cleared closes its windows") {
  const SourceId ids[] = {SourceId(1), SourceId(2)};
  TimeWindows windows(ids, {});
  windows.begin_run({});
  const Trigger slices[] = {{SliceId(1), 5000, 100, {}}, {SliceId(2), 5100, 100, {}}};
  windows.announced(slices);
  WindowedSource(SourceId(1), windows).given_up(SliceId(1));
  windows.close(SliceId(2));
  for (const SourceId source : ids) windows.pass(source, 9000, false, 9000);
  const auto made = windows.take_made();
  REQUIRE(made.size() == 1);
  CHECK(made[0].source == SourceId(2));
  CHECK(made[0].slice == SliceId(1));
}

// Two front-ends that run by themselves see the same signals, each with its own noise, rate of delivery and
// clock. Their windows come from a third clock.
TEST_CASE("common signals of free-running front-ends are in one slice; the delay finds a clock's offset") {
  constexpr DurationNs kSlice = 10 * kMillisecond;
  constexpr DurationNs kOverlap = 200 * kMicrosecond;
  constexpr DurationNs kOffset = 3 * kMillisecond + 217 * kMicrosecond;  // of the second clock
  constexpr int kSlices = 2000;
  const SourceId ids[] = {SourceId(1), SourceId(2)};
  const auto run = [&](DurationNs overlap, DurationNs corrected, DurationNs& found) {
    WindowSettings settings;
    settings.overlap_ns = overlap;
    settings.offsets[SourceId(2)] = -corrected;
    TimeWindows windows(ids, settings);
    windows.begin_run({});
    std::mt19937_64 random(7);
    std::exponential_distribution<double> signal_gap(1e-6);  // 1 kHz
    std::normal_distribution<double> jitter(0, 20e3);        // 20 us between the two detectors
    std::exponential_distribution<double> transport(1 / 50e3);
    struct Hit {
      UtcNs time;
      UtcNs arrival;
      std::uint64_t signal;  // 0: noise
    };
    std::vector<Hit> hits[2];
    std::uint64_t signals = 0;
    for (double t = 1e6; t < kSlices * 1e7 - 1e6; t += signal_gap(random)) {
      ++signals;
      for (auto& list : hits) {
        const UtcNs at = kStart + static_cast<UtcNs>(t + jitter(random));
        list.push_back({at, at + static_cast<UtcNs>(300e3 + transport(random)), signals});
      }
    }
    for (const int source : {0, 1}) {
      std::exponential_distribution<double> noise_gap(source == 0 ? 2e-6 : 0.3e-6);
      for (double t = 0; t < kSlices * 1e7; t += noise_gap(random)) {
        const UtcNs at = kStart + static_cast<UtcNs>(t);
        hits[source].push_back({at, at + static_cast<UtcNs>(300e3 + transport(random)), 0});
      }
      std::ranges::sort(hits[source], {}, &Hit::arrival);
    }
    std::vector<bool> together(signals + 1, false);
    auto take = [&, seen = std::map<SliceId, std::set<std::uint64_t>>()]() mutable {
      for (const MadeWindow& one : windows.take_made()) {
        REQUIRE(one.fragment.status == FragmentStatus::ok);
        const auto all = FragmentPieces::read(one.fragment.bytes);
        REQUIRE(all);
        std::set<std::uint64_t>& here = seen[one.slice];
        for (const FragmentPiece& piece : *all) {
          const auto signal = load_le<std::uint64_t>(piece.bytes.data());
          if (signal != 0 && !here.insert(signal).second) together[signal] = true;
        }
      }
    };
    std::size_t next[2] = {0, 0};
    for (int slice = 0; slice < kSlices; ++slice) {
      const Trigger trigger{SliceId(slice + 1U), kStart + slice * kSlice, kSlice, {}};
      windows.announced({&trigger, 1});
      const UtcNs now = trigger.time + kSlice;
      for (const int source : {0, 1}) {
        const DurationNs clock = source == 0 ? 0 : kOffset;
        for (std::size_t& at = next[source]; at < hits[source].size(); ++at) {
          const Hit& hit = hits[source][at];
          if (hit.arrival > now) break;
          auto content = std::make_shared<std::array<std::byte, 8>>();
          store_le(content->data(), hit.signal);
          windows.add(ids[source], {hit.time + clock, 0, FragmentStatus::ok, *content, content}, hit.arrival);
        }
        windows.pass(ids[source], now + clock - 2 * kMillisecond, false, now);
      }
      take();
    }
    for (const int source : {0, 1})
      windows.pass(ids[source], kStart + kSlices * kSlice + kOffset + kSecond, false,
                   kStart + kSlices * kSlice);
    take();
    CHECK(windows.counters().dropped == PieceCounters().dropped);
    found = windows.sources()[0].delays.least() - windows.sources()[1].delays.least();
    const auto whole = std::ranges::count(together, true);
    return static_cast<double>(whole) / static_cast<double>(signals);
  };
  DurationNs found = 0;
  const double lost_by_offset = run(kOverlap, 0, found);
  CHECK(lost_by_offset < 0.75);  // a third of a slice apart
  CHECK(std::abs(found - kOffset) < kSlice / 100);
  DurationNs left = 0;
  const double without_overlap = run(0, found, left);
  // Half of the distance between the data of a signal: each may be on the far side of a border by as much.
  const double with_short_overlap = run(25 * kMicrosecond, found, left);
  const double with_overlap = run(kOverlap, found, left);
  CHECK(std::abs(left) < kSlice / 100);
  CHECK(without_overlap < 0.999);
  CHECK(with_overlap >= 0.999);
  UNSCOPED_INFO("offset found " << found << " ns of " << kOffset << ", left " << left
                                << "; together: " << lost_by_offset << ", " << without_overlap << ", "
                                << with_short_overlap << ", " << with_overlap);
  CHECK(with_short_overlap >= 0.999);
  CHECK(with_overlap > without_overlap);
}

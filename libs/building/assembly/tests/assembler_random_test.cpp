#include "assembly_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/base/assert.hpp>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <set>

namespace weir::assembly {
namespace {

constexpr std::uint32_t kReadouts = 4;
constexpr std::uint32_t kSources = 14;
constexpr std::uint32_t kFragmentMax = 4000;
constexpr DurationNs kDeadline = 1000;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t below(std::uint64_t limit) { return (state_ = mix64(state_)) % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

std::vector<SourceInfo> many_sources() {
  std::vector<SourceInfo> sources;
  for (std::uint32_t i = 0; i < kSources; ++i) sources.push_back({SourceId(100 + 7 * i), i % kReadouts});
  return sources;
}

// A request that a readout is going to answer.
struct Answer {
  SliceId slice;
  Attempt attempt;
  SourceIndex source = 0;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

struct Connection {
  std::deque<Answer> answers;
  bool receiving = false;
  Reception reception;
  wire::FrameHeader header;
  std::vector<std::byte> payload;
};

// A DCM's assembler with readouts, filters and supervisor, all at random. Counts each frame and checks each
// slice.
class RandomFarm {
 public:
  RandomFarm(std::uint64_t seed, AssemblySettings settings)
      : random_(seed), settings_(settings), f_(settings, many_sources(), 64 * BufferPool::kBlockMin) {}

  void step() {
    now_ += static_cast<TimeNs>(random_.below(20));
    switch (random_.below(16)) {
      case 0:
      case 1:
        open();
        break;
      case 2:
        filter_one();
        break;
      case 3:
        if (random_.one_in(3)) release_one();
        break;
      case 4:
        if (random_.one_in(20)) lose_connection();
        break;
      case 5:
        if (random_.one_in(60)) {
          const std::uint32_t lost[] = {any_readout()};
          f_.assembler.readouts_lost(lost, MissingReason::source_down, now_);
        }
        break;
      case 6:
        expire();
        break;
      case 7:
        if (random_.one_in(20)) give_up_one();
        break;
      case 8:
        send_nonsense();
        break;
      default:
        receive_some();
        break;
    }
    take_completed();
    if (random_.one_in(16)) CHECK(f_.slices.broken_invariant() == "");
  }

  void finish() {
    for (Connection& connection : connections_) {
      if (connection.receiving && random_.one_in(2)) abandon(connection);
    }
    while (!open_.empty()) release(open_.begin()->second);
    for (Connection& connection : connections_) {
      if (connection.receiving) end_frame(connection);
    }
  }

  void check_at_the_end() {
    const FragmentCounters& n = f_.counters();
    CHECK(f_.slices.open_count() == 0);
    CHECK(f_.slices.broken_invariant() == "");
    CHECK(f_.assembler.is_empty());
    CHECK(f_.pool.bytes_used() == 0);
    CHECK(n.requested == wanted_);
    CHECK(n.requested == n.received + f_.missing_all() + n.cancelled);
    CHECK(n.prefetched == n.prefetch_used + n.prefetch_unused);
    CHECK(n.prefetch_used > 0);
    CHECK(n.prefetch_unused > 0);
    CHECK(n.prefetch_wasted_bytes > 0);
    const std::uint64_t settled_by_frame = n.received + f_.missing(MissingReason::not_produced) +
                                           f_.missing(MissingReason::too_large) +
                                           f_.missing(MissingReason::no_buffer);
    CHECK(frames_ == settled_by_frame + ranges_ + n.asked_again + n.late + n.duplicate + n.unknown);
    CHECK(handed_out_ > 0);
    CHECK(n.received > 0);
    CHECK(blocks_ > 0);
    check_sources();
  }

  // The counts of the sources are the totals.
  void check_sources() const {
    const FragmentCounters& n = f_.counters();
    const SourceTallies& tallies = f_.assembler.tallies();
    SourceTally arrived;
    std::array<std::uint64_t, kMissingReasons> missing{};
    for (std::size_t source = 0; source < tallies.size(); ++source) {
      arrived.received += tallies.arrived(source).received;
      arrived.bytes += tallies.arrived(source).bytes;
      for (std::size_t i = 0; i < missing.size(); ++i)
        missing[i] += tallies.missing(source, static_cast<MissingReason>(i));
    }
    CHECK(arrived.received == n.received);
    CHECK(arrived.bytes == n.bytes);
    for (std::size_t i = 0; i < missing.size(); ++i) CHECK(missing[i] == n.missing[i] - n.overtaken[i]);
  }

  [[nodiscard]] const Fixture& fixture() const { return f_; }

 private:
  std::uint32_t any_readout() { return static_cast<std::uint32_t>(random_.below(kReadouts)); }

  // Size of a source's fragment of this slice: always the same.
  static std::size_t size_of(SliceId slice, SourceIndex source) {
    const std::uint64_t word = mix64(slice.value * kSources + source);
    return word % 40 == 0 ? kFragmentMax + 1 : word % 600;
  }
  static bool has_it(SliceId slice, SourceIndex source) { return mix64(slice.value * 31 + source) % 12 != 0; }

  void ask(BuiltSlice& slice, SourceIndex source, std::uint32_t offset, std::uint32_t length) {
    const Answer answer{slice.id(), slice.attempt(), source, offset, length};
    Connection& connection = connections_[f_.assembler.sources()[source].readout];
    connection.answers.push_back(answer);
    if (random_.one_in(30)) connection.answers.push_back(answer);  // sent twice
  }

  void want(BuiltSlice& slice) {
    using enum FragmentProgress::State;
    std::vector<SourceIndex> needed;
    std::vector<SourceIndex> unsent;
    std::uint32_t fresh = 0;
    for (SourceIndex i = 0; i < kSources; ++i) {
      const FragmentProgress& progress = slice.progress[i];
      if (is_asked(progress) || random_.below(3) == 0) continue;
      needed.push_back(i);
      fresh += progress.state == idle || progress.state == cancelled || progress.state == receiving_cancelled;
      if (progress.state == idle || progress.state == cancelled ||
          (progress.state == ahead && !progress.sent_ahead))
        unsent.push_back(i);
    }
    const std::uint32_t asked = f_.assembler.want(slice, needed);
    CHECK(asked == fresh);
    wanted_ += asked;
    f_.assembler.cancel_unsent(slice);
    if (slice.state() != BuildState::collecting) return;
    if (!random_.one_in(10)) f_.assembler.requested(slice, now_);
    for (const SourceIndex source : unsent) ask(slice, source, 0, settings_.range_bytes);
  }

  static bool is_asked(const FragmentProgress& progress) {
    using enum FragmentProgress::State;
    return progress.state == requested || progress.state == receiving || progress.state == done;
  }

  // For a slice that the filter is about to get: requests some sources for its next step.
  void prefetch(BuiltSlice& slice) {
    std::vector<SourceIndex> sources;
    for (SourceIndex i = 0; i < kSources; ++i) {
      if (slice.progress[i].state == FragmentProgress::State::idle && random_.one_in(2)) sources.push_back(i);
    }
    CHECK(f_.assembler.want_ahead(slice, sources) == sources.size());
    wanted_ += sources.size();
    for (const SourceIndex source : sources) {
      if (random_.one_in(4)) continue;  // not before the end of the step
      slice.progress[source].sent_ahead = true;
      ask(slice, source, 0, settings_.range_bytes);
    }
  }

  void open() {
    if (f_.assembler.full()) return;
    const std::uint64_t id = random_.one_in(8) && next_id_ > 0 ? random_.below(next_id_) : next_id_++;
    if (open_.count(id) != 0) return;
    BuiltSlice& slice = f_.open(id, attempts_[id]++, now_);
    open_[id] = &slice;
    not_handed_out_.insert(id);
    want(slice);
  }

  void begin_frame(Connection& connection, std::uint32_t readout) {
    const Answer answer = connection.answers.front();
    connection.answers.pop_front();
    const SourceInfo& source = f_.assembler.sources()[answer.source];
    if (!has_it(answer.slice, answer.source)) {
      connection.header =
          wire::missing_fragment(answer.slice, answer.attempt, source.id, MissingReason::not_produced);
      connection.payload.clear();
    } else {
      const auto whole = content(answer.slice, source.id, size_of(answer.slice, answer.source));
      connection.header =
          range_header(answer.slice, answer.attempt, source.id, whole, answer.offset, answer.length);
      const auto part = ConstBytes(whole).subspan(answer.offset, connection.header.length);
      connection.payload.assign(part.begin(), part.end());
      if (random_.one_in(25) && !part.empty())
        connection.payload[random_.below(part.size())] ^= std::byte{0x10};
    }
    connection.reception = f_.assembler.begin(connection.header, readout);
    connection.receiving = true;
    if (connection.reception.target != nullptr)
      std::memset(connection.reception.target, 0x77, connection.header.length);
  }

  void end_frame(Connection& connection) {
    if (connection.reception.slice != nullptr && connection.header.length > 0) {
      std::memcpy(connection.reception.target, connection.payload.data(), connection.payload.size());
    }
    connection.receiving = false;
    ++frames_;
    f_.assembler.finish(connection.reception, connection.header, now_);
    ask_for_ranges();
  }

  void ask_for_ranges() {
    for (const RangeWanted& wanted : f_.assembler.ranges_wanted()) {
      if (wanted.offset > 0) ++ranges_;
      ask(*wanted.slice, wanted.source, wanted.offset, wanted.length);
    }
    f_.assembler.ranges_wanted().clear();
  }

  void receive_some() {
    const std::uint32_t readout = any_readout();
    Connection& connection = connections_[readout];
    if (connection.receiving) end_frame(connection);
    for (std::uint64_t i = 0; i < 4 && !connection.answers.empty(); ++i) {
      if (random_.one_in(2)) receive_block(connection, readout);
      if (connection.answers.empty()) return;
      begin_frame(connection, readout);
      if (random_.one_in(3)) return;  // its end comes some other time
      end_frame(connection);
    }
  }

  // Puts consecutive whole answers of one slice into a block. A block holds no others.
  void receive_block(Connection& connection, std::uint32_t readout) {
    const Answer first = connection.answers.front();
    std::vector<Fixture::Row> rows;
    while (!connection.answers.empty() && rows.size() < 1 + random_.below(8)) {
      const Answer answer = connection.answers.front();
      const std::size_t size = size_of(answer.slice, answer.source);
      const bool whole = answer.offset == 0 && (answer.length == 0 || size <= answer.length);
      if (answer.slice != first.slice || answer.attempt != first.attempt || !whole) break;
      connection.answers.pop_front();
      rows.push_back(has_it(answer.slice, answer.source)
                         ? f_.whole_row(answer.slice, answer.source, size)
                         : f_.missing_row(answer.source, MissingReason::not_produced));
      auto& bytes = rows.back().bytes;
      if (random_.one_in(25) && !bytes.empty()) bytes[random_.below(bytes.size())] ^= std::byte{0x10};
      if (random_.one_in(100)) rows.back().row.source = SourceId(rows.back().row.source.value + 1);
    }
    if (rows.empty()) return;
    const auto slot = static_cast<std::uint32_t>(random_.below(30));  // right now and then
    const BlockReception taken = f_.deliver_block(first.slice, first.attempt, slot, rows, readout, now_);
    CHECK(taken.taken.size() <= rows.size());
    frames_ += rows.size();
    ++blocks_;
    ask_for_ranges();
  }

  void abandon(Connection& connection) {
    connection.receiving = false;
    // A dropped frame was counted when it began; a returned slice is forgotten.
    if (connection.reception.slice == nullptr) ++frames_;
    f_.assembler.abandon(connection.reception);
  }

  void lose_connection() {
    const std::uint32_t readout = any_readout();
    Connection& connection = connections_[readout];
    if (connection.receiving) abandon(connection);
    connection.answers.clear();
    for (auto& [id, slice] : open_) {
      f_.assembler.cancel_ahead_of(*slice, std::array{readout});
      for (SourceIndex i = readout; i < kSources; i += kReadouts) {
        if (slice->progress[i].state != FragmentProgress::State::requested) continue;
        slice->progress[i].have = 0;
        ask(*slice, i, 0, settings_.range_bytes);
      }
    }
  }

  void send_nonsense() {
    const auto source = static_cast<SourceIndex>(random_.below(kSources));
    const SliceId slice(random_.below(next_id_ + 10));
    const auto bytes = content(slice, SourceId(3), 5);
    auto header = whole_header(slice, Attempt(0), f_.assembler.sources()[source].id, bytes);
    if (random_.one_in(3)) header.source = SourceId(header.source.value + 1);
    const std::uint32_t readout = (f_.assembler.sources()[source].readout + 1) % kReadouts;
    ++frames_;
    CHECK_FALSE(f_.deliver(header, bytes, readout, now_));
  }

  void expire() {
    f_.assembler.expire(now_);
    for (const BuiltSlice* slice : f_.assembler.take_expired()) {
      if (given_up_.contains(slice)) continue;  // may be in its next step
      CHECK(slice->outstanding == 0);
      CHECK(now_ >= slice->deadline_ns);
    }
    given_up_.clear();
    for (const auto& [id, slice] : open_) {
      if (slice->state() == BuildState::collecting && slice->deadline_ns != 0)
        CHECK(now_ < slice->deadline_ns);
    }
  }

  void take_completed() {
    for (BuiltSlice* slice : f_.completed()) {
      ++handed_out_;
      if (slice->step == 0) {
        if (settings_.order == ReleaseOrder::by_id) CHECK(slice->id().value == *not_handed_out_.begin());
        CHECK(not_handed_out_.erase(slice->id().value) == 1);
      }
      CHECK(slice->state() == BuildState::queued);
      CHECK(slice->outstanding == 0);
      check_table(*slice);
      seen_[slice] = slice->table;
      filtering_.push_back(slice);
      if (random_.one_in(2)) prefetch(*slice);
    }
  }

  static void check_table(const BuiltSlice& slice) {
    std::size_t bytes = 0;
    std::uint32_t flawed = 0;
    for (SourceIndex i = 0; i < kSources; ++i) {
      const weir_filter_fragment& entry = slice.table[i];
      const auto status = static_cast<FragmentStatus>(entry.status);
      const bool asked = is_asked(slice.progress[i]);
      WEIR_ASSERT(asked == (status != FragmentStatus::not_requested));
      WEIR_ASSERT((status == FragmentStatus::missing) == (entry.missing_reason != 0));
      bytes += entry.length;
      flawed += status == FragmentStatus::missing || status == FragmentStatus::corrupt ? 1U : 0U;
      if (status != FragmentStatus::ok) continue;
      WEIR_ASSERT(entry.length == size_of(slice.id(), i));
      WEIR_ASSERT(holds_content(slice, i));
    }
    WEIR_ASSERT(bytes == slice.payload_bytes);
    WEIR_ASSERT(flawed == slice.flawed);
  }

  void filter_one() {
    if (filtering_.empty()) return;
    const std::size_t at = random_.below(filtering_.size());
    BuiltSlice* slice = filtering_[at];
    filtering_.erase(filtering_.begin() + static_cast<std::ptrdiff_t>(at));
    check_table(*slice);
    // Unchanged while the filter had it, regardless of fragments ahead.
    CHECK(std::memcmp(seen_[slice].data(), slice->table.data(), kSources * sizeof(weir_filter_fragment)) ==
          0);
    if (random_.one_in(3)) {
      f_.next_step(*slice);
      want(*slice);
    } else if (random_.one_in(2)) {
      f_.slices.change(*slice, BuildState::decided);
    } else {
      release(slice);
    }
  }

  BuiltSlice* any_open() {
    if (open_.empty()) return nullptr;
    return std::next(open_.begin(), static_cast<std::ptrdiff_t>(random_.below(open_.size())))->second;
  }
  void release_one() {
    if (BuiltSlice* slice = any_open()) release(slice);
  }
  void give_up_one() {
    BuiltSlice* const slice = any_open();
    if (slice == nullptr) return;
    f_.assembler.give_up(*slice, MissingReason::overflow, now_);
    given_up_.insert(slice);
  }
  void release(BuiltSlice* slice) {
    std::erase(filtering_, slice);
    not_handed_out_.erase(slice->id().value);
    open_.erase(slice->id().value);
    f_.assembler.release(*slice);
  }

  Random random_;
  AssemblySettings settings_;
  Fixture f_;
  std::array<Connection, kReadouts> connections_;
  std::map<std::uint64_t, BuiltSlice*> open_;
  std::map<std::uint64_t, std::uint16_t> attempts_;
  std::set<std::uint64_t> not_handed_out_;
  std::set<const BuiltSlice*> given_up_;  // since the last expire()
  std::vector<BuiltSlice*> filtering_;
  std::map<const BuiltSlice*, std::vector<weir_filter_fragment>> seen_;  // tables, as the filter got them
  std::uint64_t next_id_ = 0;
  std::uint64_t wanted_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t ranges_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t handed_out_ = 0;
  TimeNs now_ = 1;
};

}  // namespace

TEST_CASE(
    "every requested fragment is received or missing, and all memory is released, under random events") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 25)));
  AssemblySettings settings;
  settings.slices_max = 24;
  settings.fragment_bytes_max = kFragmentMax;
  settings.deadline_ns = kDeadline;
  settings.order = seed % 2 == 0 ? ReleaseOrder::as_completed : ReleaseOrder::by_id;
  settings.range_bytes = seed % 3 == 0 ? 0 : 150;
  CAPTURE(seed);

  RandomFarm farm(seed, settings);
  for (int i = 0; i < 6000; ++i) farm.step();
  farm.finish();
  farm.check_at_the_end();
}

}  // namespace weir::assembly

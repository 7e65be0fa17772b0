// One damaged packet in a run: every bit of its header is flipped once, at several rates and places.
#include "packet_bytes.hpp"
#include "weir_catch.hpp"
#include <weir/packets/reassembler.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

using namespace weir;
using namespace weir::packets;
using namespace weir::packets::test;

namespace {

constexpr std::uint64_t kSlices = 48;
constexpr std::uint32_t kSources = 3;

using Key = std::pair<std::uint32_t, std::uint64_t>;  // source, slice

struct Received final : ReassemblySink {
  void whole(SourceId source, SliceId slice, FragmentMemory memory, bool) override {
    const auto* text = reinterpret_cast<const char*>(memory.bytes.get());
    give(source, slice, std::string(text, memory.size));
  }
  void lost(SourceId source, SliceId slice) override { give(source, slice, ""); }
  void passed(SourceId source, SliceId slice, bool) override {
    std::uint64_t& from = ended[source.value];
    for (; from <= std::min<std::uint64_t>(slice.value, 10 * kSlices); ++from)
      give(source, SliceId(from), "");
  }
  void restarted(SourceId, const Origin&, const Origin&) override { ++restarts; }
  void second_sender(SourceId, const Origin&, const Origin&) override { ++seconds; }
  // As in a readout, the first fragment of a slice counts.
  void give(SourceId source, SliceId slice, std::string text) {
    fragments.try_emplace({source.value, slice.value}, std::move(text));
  }
  std::map<Key, std::string> fragments;
  std::map<std::uint32_t, std::uint64_t> ended;
  int restarts = 0;
  int seconds = 0;
};

struct Setting {
  const char* name;
  DurationNs step = 0;        // between slices
  std::uint32_t parts = 1;    // of a fragment
  std::uint32_t session = 9;  //
  std::uint32_t first = 0;    // sequence number
  std::uint64_t stride = 1;   // of slice ids
  bool one_board = true;      // one address for all sources
  std::uint32_t phase = 0;    // between the sequence numbers of sources
  int reorder = 0;            // packets that one may be late by
  int repeat_every = 0;       // packet sent twice
  // In the middle of the run:
  bool restarts = false;
  bool other_address = false;
  std::uint64_t skips = 0;  // slices, and packets of each source
};

struct Sent {
  std::vector<std::byte> bytes;
  Origin from;
  TimeNs at = 0;
};

// Not the magic number, which is compared as a whole, and bytes that no rule mentions.
bool is_read(std::size_t byte) { return byte > 3 && (byte < 38 || byte > 43); }

std::string text_of(std::uint32_t source, std::uint64_t slice, std::uint32_t part) {
  return std::to_string(source) + "/" + std::to_string(1'000'000 + slice) + "/" + std::to_string(part);
}

class Run {
 public:
  explicit Run(const Setting& setting) : setting_(setting) {
    for (std::uint64_t i = 0; i < kSlices; ++i) {
      if (i == kSlices / 2) change();
      for (std::uint32_t source = 1; source <= kSources; ++source)
        add(source, i * setting.stride + skipped_, i);
    }
    std::mt19937 random(7);
    for (std::size_t i = 0; setting.reorder > 0 && i + 10 < packets_.size(); ++i) {
      const auto other = i + random() % static_cast<unsigned>(setting.reorder);
      std::swap(packets_[i].bytes, packets_[other].bytes);
      std::swap(packets_[i].from, packets_[other].from);
    }
  }
  [[nodiscard]] std::size_t packets() const { return packets_.size(); }
  Received play(std::size_t damaged, std::size_t bit) {
    const std::vector<SourceId> ids{SourceId(1), SourceId(2), SourceId(3)};
    ReassemblyLimits limits;
    limits.bytes_max = 8U << 20U;
    limits.fragment_bytes_max = 8U << 20U;
    Reassembler reassembler(RunNumber(5), ids, limits);
    Received received;
    TimeNs tick = 0;
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      Sent sent = packets_[i];
      for (; tick < sent.at; tick += std::max<DurationNs>(limits.gap_ns / 4, setting_.step / 4))
        reassembler.tick(tick, received);
      if (i == damaged) sent.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      const bool twice =
          setting_.repeat_every > 0 && i % static_cast<std::size_t>(setting_.repeat_every) == 0;
      for (int k = 0; k < (twice ? 2 : 1); ++k) reassembler.take(sent.bytes, sent.from, sent.at, received);
    }
    const TimeNs end = packets_.back().at;
    for (int i = 1; i < 10; ++i) reassembler.tick(end + i * limits.gap_ns, received);
    return received;
  }
  std::size_t lost(const Received& received) {
    std::size_t lost = 0;
    for (const auto& [key, text] : expected_) {
      const auto at = received.fragments.find(key);
      lost += at == received.fragments.end() || at->second != text;
    }
    return lost;
  }

 private:
  void change() {
    skipped_ = setting_.skips;
    board_ = setting_.other_address ? 100 : 0;
    for (auto& [source, sequence] : sequences_) {
      if (setting_.restarts) sequence = 0;
      sequence += static_cast<std::uint32_t>(setting_.skips);
    }
    if (setting_.restarts && setting_.session != 0) setting_.session += 20;
  }
  void add(std::uint32_t source, std::uint64_t slice, std::uint64_t number) {
    std::string whole;
    for (std::uint32_t part = 0; part < setting_.parts; ++part) whole += text_of(source, slice, part);
    expected_[{source, slice}] = whole;
    Packet packet;
    packet.checksummed = false;
    packet.run = RunNumber(5);
    packet.source = SourceId(source);
    packet.slice = SliceId(slice);
    packet.session = setting_.session == 0 ? 0 : setting_.session + (setting_.one_board ? 0 : source);
    packet.total = static_cast<std::uint32_t>(whole.size());
    for (std::uint32_t part = 0; part < setting_.parts; ++part) {
      const std::string text = text_of(source, slice, part);
      packet.sequence = setting_.first + sequences_[source]++ + source * setting_.phase;
      packet.closes = part + 1 == setting_.parts;
      packets_.push_back({datagram(packet, text),
                          address(static_cast<std::uint8_t>(board_ + (setting_.one_board ? 1 : source))),
                          kSecond + static_cast<TimeNs>(number) * setting_.step});
      packet.offset += static_cast<std::uint32_t>(text.size());
    }
  }
  Setting setting_;
  std::vector<Sent> packets_;
  std::uint64_t skipped_ = 0;
  std::uint32_t board_ = 0;
  std::map<std::uint32_t, std::uint32_t> sequences_;
  std::map<Key, std::string> expected_;
};

constexpr DurationNs k50Hz = 20 * kMillisecond;
constexpr DurationNs k20kHz = 50 * kMicrosecond;

const Setting kSettings[] = {
    {"50 Hz", k50Hz},
    {"20 kHz", k20kHz},
    {"0.5 Hz", 2 * kSecond},
    {"three parts", k50Hz, 3},
    {"three parts at 20 kHz", k20kHz, 3},
    {"no session numbers", k50Hz, 1, 0},
    {"no session numbers, 20 kHz, three parts", k20kHz, 3, 0},
    {"session 1", k50Hz, 1, 1},
    {"joined", k50Hz, 1, 9, 500'000},
    {"joined, no session", k20kHz, 1, 0, 3'000'000'000},
    {"wraps", k50Hz, 2, 9, 0xffffffc0},
    {"sparse slices", k50Hz, 1, 9, 0, 10},
    {"a board for each source", k50Hz, 1, 9, 0, 1, false},
    {"boards without session numbers", k20kHz, 1, 0, 0, 1, false},
    {"boards out of phase", k50Hz, 1, 9, 0, 1, false, 40},
    {"sources out of phase", k50Hz, 1, 9, 0, 1, true, 100'000},
    {"reordered", k20kHz, 1, 9, 0, 1, true, 0, 8},
    {"reordered, three parts", k20kHz, 3, 0, 0, 1, true, 0, 8},
    {"repeated", k50Hz, 1, 9, 0, 1, true, 0, 0, 1},
    {"repeated, no session", k20kHz, 2, 0, 0, 1, false, 0, 0, 3},
};

const Setting kChanges[] = {
    {"restart", k50Hz, 1, 9, 0, 1, true, 0, 0, 0, true},
    {"restart elsewhere", k20kHz, 1, 9, 0, 1, true, 0, 0, 0, true, true},
    {"restart, three parts", k50Hz, 3, 9, 0, 1, false, 0, 0, 0, true, true},
    {"restart, no session", k50Hz, 1, 0, 0, 1, true, 0, 0, 0, true},
    {"restart elsewhere, no session", k20kHz, 1, 0, 0, 1, false, 0, 0, 0, true, true},
    {"restart, reordered", k20kHz, 1, 9, 0, 1, true, 0, 4, 0, true},
    {"restart, repeated", k50Hz, 1, 9, 0, 1, true, 0, 0, 1, true},
    {"jump", k50Hz, 1, 9, 0, 1, true, 0, 0, 0, false, false, 700},
    {"jump, three parts", k20kHz, 3, 9, 0, 1, true, 0, 0, 0, false, false, 300},
    {"jump, no session", k50Hz, 1, 0, 0, 1, true, 0, 0, 0, false, false, 50'000},
    {"jump, reordered", k20kHz, 2, 9, 0, 1, true, 0, 4, 0, false, false, 500},
};

}  // namespace

TEST_CASE("no bit of a header that is flipped once costs more than two fragments") {
  for (const Setting& setting : kSettings) {
    Run run(setting);
    REQUIRE(run.lost(run.play(run.packets(), 0)) == 0);
    const std::size_t middle = run.packets() / 2;
    for (const std::size_t damaged :
         {std::size_t{0}, std::size_t{4}, middle, middle + 1, run.packets() - 12}) {
      std::string wrong;
      for (std::size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
        if (!is_read(bit / 8)) continue;
        const Received received = run.play(damaged, bit);
        const std::size_t lost = run.lost(received);
        if (lost <= 2 && received.restarts == 0 && received.seconds == 0) continue;
        wrong += " byte " + std::to_string(bit / 8) + " bit " + std::to_string(bit % 8) + ": " +
                 std::to_string(lost) + " lost, " + std::to_string(received.restarts) + " restarts, " +
                 std::to_string(received.seconds) + " seconds;";
      }
      INFO(setting.name << ", packet " << damaged);
      CHECK(wrong == "");
    }
  }
}

TEST_CASE(
    "restarts and jumps are recognised, and a damaged packet beside them costs no more than two fragments") {
  for (const Setting& setting : kChanges) {
    Run run(setting);
    INFO(setting.name);
    const Received good = run.play(run.packets(), 0);
    const std::size_t unavoidable = run.lost(good);
    const bool loses = setting.restarts && setting.session == 0;  // seven packets of each source
    CHECK(unavoidable == (loses ? 7 * kSources : 0));
    CHECK(good.restarts == (setting.restarts ? static_cast<int>(kSources) : 0));
    CHECK(good.seconds == 0);
    for (const std::size_t after : {0U, 3U, 4U, 5U, 8U, 14U, 21U, 27U}) {
      const std::size_t damaged = run.packets() / 2 - 4 + after;
      std::string wrong;
      for (std::size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
        if (!is_read(bit / 8)) continue;
        const Received received = run.play(damaged, bit);
        const std::size_t lost = run.lost(received);
        const int restarts = received.restarts - good.restarts;
        if (lost <= unavoidable + 2 && restarts == 0 && received.seconds == 0) continue;
        wrong += " byte " + std::to_string(bit / 8) + " bit " + std::to_string(bit % 8) + ": " +
                 std::to_string(lost) + " lost, " + std::to_string(restarts) + " more restarts, " +
                 std::to_string(received.seconds) + " seconds;";
      }
      INFO("packet " << damaged);
      CHECK(wrong == "");
    }
  }
}

// A readout's fragments in frames and blocks for a DCM.
#include "../src/answers.hpp"

#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "recording_side.hpp"
#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/wire/block.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace weir::readout {
namespace {

struct StillClock final : ports::Clock {
  [[nodiscard]] TimeNs now_ns() const override { return kSecond; }
  [[nodiscard]] UtcNs utc_ns() const override { return kSecond; }
};

struct Served {
  Served() {
    const auto at = listener.open(network, {"memory", 0});
    REQUIRE(at.has_value());
    dcm.emplace(dcm_self, far, limits, counters, *at, kSecond);
    for (int turn = 0; turn < 4; ++turn) {
      now += kSecond;
      dcm->tick(network, now);
      network.run();
      listener.tick();
    }
    REQUIRE(near.peer != nullptr);
    REQUIRE(far.peer != nullptr);
    connections = {near.peer, nullptr};
  }
  static source::RequestedFragment request(std::uint64_t slice, std::uint32_t source) {
    source::RequestedFragment asked;
    asked.slice = SliceId(slice);
    asked.attempt = Attempt(1);
    asked.source = SourceId(source);
    asked.slot = 4;
    return asked;
  }
  // Makes a fragment with bytes that outlive it.
  source::SourceFragment fragment(std::size_t size) {
    contents.emplace_back(size, static_cast<std::byte>(contents.size() + 1));
    source::SourceFragment made;
    made.bytes = contents.back();
    made.crc32c = crc32c(made.bytes);
    return made;
  }
  static source::SourceFragment missing(MissingReason reason) {
    source::SourceFragment made;
    made.status = FragmentStatus::missing;
    made.reason = reason;
    return made;
  }
  std::vector<test::RecordingSide::Frame> sent() {
    network.run();
    return std::exchange(far.frames, {});
  }

  test::MemoryNetwork network;
  TimeNs now = kSecond;
  sessions::PeerInfo self = test::process(Role::readout, 0);
  sessions::PeerInfo dcm_self = test::process(Role::dcm, 0);
  sessions::PeerLimits limits;
  sessions::PeerCounters counters;
  test::RecordingSide near;
  test::RecordingSide far;
  sessions::SessionListener listener{self, near, limits, counters, now};
  std::optional<sessions::Connector> dcm;
  std::deque<std::vector<std::byte>> contents;
  std::vector<sessions::Peer*> connections;
  StillClock clock;
  Timings timings{clock};
  Answers answers{connections, timings};
};

std::vector<std::pair<wire::BlockSlice, wire::BlockPart>> parts_of(const test::RecordingSide::Frame& frame) {
  REQUIRE(frame.header.type == wire::FrameType::block);
  const auto view = wire::BlockView::parse(frame.header, frame.payload);
  REQUIRE(view.has_value());
  std::vector<std::pair<wire::BlockSlice, wire::BlockPart>> parts;
  view->for_each_slice(
      [&](const wire::BlockSlice& of, const wire::BlockPart& part) { parts.emplace_back(of, part); });
  return parts;
}

// Requires: a block of one slice.
wire::BlockPart block_of(const test::RecordingSide::Frame& frame) {
  const auto parts = parts_of(frame);
  REQUIRE(parts.size() == 1);
  return parts.front().second;
}

}  // namespace

TEST_CASE("the fragments of one slice for one DCM leave as one block, copied or referred to") {
  Served readout;
  const std::vector<std::size_t> sizes = {3, 0, 512, 513, 16384};
  for (std::uint32_t source = 0; source < sizes.size(); ++source)
    readout.answers.add(Served::request(9, source), readout.fragment(sizes[source]));
  readout.answers.add(Served::request(9, 7), Served::missing(MissingReason::dropped));
  CHECK(readout.sent().empty());
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].header.slice == SliceId(9));
  CHECK(frames[0].header.attempt == Attempt(1));
  CHECK(wire::block_head(frames[0].header).slot == 4);
  const wire::BlockPart block = block_of(frames[0]);
  REQUIRE(block.size() == 6);
  std::size_t at = 0;
  for (std::uint32_t source = 0; source < sizes.size(); ++source) {
    const wire::BlockRow row = block.row(source);
    CHECK(row.source == SourceId(source));
    CHECK(row.length == sizes[source]);
    CHECK(row.crc == crc32c(block.payloads().subspan(at, row.length)));
    at += row.length;
    for (; at % wire::kBlockAlignment != 0; ++at) CHECK(block.payloads()[at] == std::byte{0});
  }
  CHECK(block.row(5).status == FragmentStatus::missing);
  CHECK(block.row(5).reason == MissingReason::dropped);
}

TEST_CASE("one fragment alone leaves as a fragment frame") {
  Served readout;
  readout.answers.add(Served::request(9, 1), readout.fragment(5));
  readout.answers.flush();
  readout.answers.add(Served::request(9, 2), Served::missing(MissingReason::gap));
  readout.answers.flush();
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].header.type == wire::FrameType::fragment);
  CHECK(frames[0].header.source == SourceId(1));
  CHECK(frames[0].header.total == 5);
  CHECK(frames[0].header.crc == crc32c(frames[0].payload));
  CHECK(wire::missing_reason(frames[1].header) == MissingReason::gap);
}

TEST_CASE("short fragments of several slices and attempts for one DCM share a block, and order is kept") {
  Served readout;
  auto other_attempt = Served::request(9, 1);
  other_attempt.attempt = Attempt(2);
  auto other_slot = Served::request(7, 1);
  other_slot.slot = 6;
  const std::vector<source::RequestedFragment> requests = {Served::request(9, 1), Served::request(8, 1),
                                                           Served::request(8, 2), other_attempt, other_slot};
  for (std::size_t i = 0; i < requests.size(); ++i)
    readout.answers.add(requests[i], readout.fragment(i == 3 ? 4096 : 9 + i));
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 1);
  const auto parts = parts_of(frames[0]);
  REQUIRE(parts.size() == 4);
  CHECK(parts[0].first == wire::BlockSlice{SliceId(9), Attempt(1), 4});
  CHECK(parts[1].first == wire::BlockSlice{SliceId(8), Attempt(1), 4});
  CHECK(parts[2].first == wire::BlockSlice{SliceId(9), Attempt(2), 4});
  CHECK(parts[3].first == wire::BlockSlice{SliceId(7), Attempt(1), 6});
  const std::vector<std::size_t> rows = {1, 2, 1, 1};
  std::size_t next = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const wire::BlockPart& part = parts[i].second;
    REQUIRE(part.size() == rows[i]);
    std::size_t at = 0;
    for (std::size_t row = 0; row < part.size(); ++row, ++next) {
      CHECK(part.row(row).source == requests[next].source);
      CHECK(part.row(row).length == (next == 3 ? 4096 : 9 + next));
      CHECK(part.row(row).crc == crc32c(part.payloads().subspan(at, part.row(row).length)));
      at += wire::block_bytes(part.row(row).length);
    }
  }
}

TEST_CASE("a longer fragment of another slice, or one beyond 16 KiB, begins another block") {
  Served readout;
  for (std::uint64_t slice = 1; slice <= 40; ++slice)
    readout.answers.add(Served::request(slice, 1), readout.fragment(1024));
  readout.answers.add(Served::request(41, 1), readout.fragment(4097));
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 4);
  std::size_t slices = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(frames[i].header.length <= 16 * 1024);
    slices += parts_of(frames[i]).size();
  }
  CHECK(slices == 40);
  CHECK(frames[3].header.type == wire::FrameType::fragment);
  CHECK(frames[3].header.slice == SliceId(41));
}

TEST_CASE("another DCM begins another block, and those of a closed connection are dropped") {
  Served readout;
  auto nobody = Served::request(9, 1);
  nobody.connection = 1;
  for (const auto& request : {Served::request(8, 1), Served::request(8, 2), nobody, nobody,
                              Served::request(9, 1), Served::request(9, 2)})
    readout.answers.add(request, readout.fragment(10));
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].header.slice == SliceId(8));
  CHECK(frames[1].header.slice == SliceId(9));
  for (const auto& frame : frames) CHECK(block_of(frame).size() == 2);
}

TEST_CASE("long fragments and ranges get separate frames between the blocks") {
  Served readout;
  auto range = Served::request(9, 2);
  range.offset = 4;
  range.length = 3;
  auto first_part = Served::request(9, 3);
  first_part.length = 6;
  auto within = Served::request(9, 4);
  within.length = 10;
  readout.answers.add(Served::request(9, 1), readout.fragment(10));
  readout.answers.add(range, readout.fragment(10));
  readout.answers.add(first_part, readout.fragment(10));
  readout.answers.add(within, readout.fragment(10));
  readout.answers.add(Served::request(9, 5), readout.fragment(16385));
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 5);
  for (const auto& frame : frames) CHECK(frame.header.type == wire::FrameType::fragment);
  CHECK(frames[1].header.offset == 4);
  CHECK(frames[1].header.length == 3);
  CHECK(frames[1].header.total == 10);
  CHECK(frames[2].header.length == 6);
  CHECK(frames[3].header.length == 10);
  CHECK(frames[4].header.length == 16385);
}

TEST_CASE("more fragments than a block holds are sent in several") {
  Served readout;
  for (std::uint32_t source = 0; source < 9; ++source)
    readout.answers.add(Served::request(9, source), readout.fragment(16000));
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 3);
  std::size_t rows = 0;
  for (const auto& frame : frames) {
    CHECK(frame.header.length <= wire::kBlockPayloadMax);
    rows += frame.header.type == wire::FrameType::block ? block_of(frame).size() : 1;
  }
  CHECK(rows == 9);
}

TEST_CASE("a fragment's owner is kept until the block has left, and no longer") {
  Served readout;
  auto owner = std::make_shared<std::vector<std::byte>>(1000, std::byte{9});
  source::SourceFragment fragment;
  fragment.bytes = *owner;
  fragment.owner = owner;
  readout.answers.add(Served::request(9, 1), fragment);
  readout.answers.add(Served::request(9, 2), fragment);
  fragment.owner.reset();
  std::weak_ptr<void> watched = owner;
  owner.reset();
  CHECK_FALSE(watched.expired());
  readout.answers.flush();
  const auto frames = readout.sent();
  REQUIRE(frames.size() == 1);
  CHECK(block_of(frames[0]).row(0).length == 1000);
  CHECK(watched.expired());
}

}  // namespace weir::readout

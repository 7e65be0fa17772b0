// Slice records on their way to a writer: in pieces, damaged, refused.
#include "memory_farm.hpp"
#include "raw_peer.hpp"
#include "weir_catch.hpp"
#include <weir/storage/run_store.hpp>
#include <weir/storage/slice_record.hpp>
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

#include <functional>
#include <map>
#include <optional>
#include <set>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr std::uint64_t kRecordSlices = 200;
constexpr std::uint64_t kRecordBytesMin = 16'000;  // two sources of 8000 bytes

std::string farm_of(const std::string& frame_bytes_max = "64KiB") {
  return "trigger: {mode: max}\nsource: {kind: dummy, size_bytes: 8000}\n"
         "supervisor: {status_interval_ms: 20}\nfilter: {plugin: accept-all}\n"
         "readout: {count: 1, sources_per_readout: 2}\n"
         "dcm: {count: 1, credits: 4}\n"
         "writer: {count: 1, sync_interval_ms: 5, buffer_bytes: 64KiB}\n"
         "network: {reconnect_ms: 10, frame_bytes_max: " +
         frame_bytes_max + "}\n";
}

std::span<std::byte, wire::kHeaderBytes> header_at(std::vector<std::byte>& sent, std::size_t at) {
  return std::span<std::byte, wire::kHeaderBytes>(&sent[at], wire::kHeaderBytes);
}

// Calls `see` for each frame of type data, with its payload.
void each_data_frame(std::vector<std::byte>& sent,
                     const std::function<void(const wire::FrameHeader&, Bytes)>& see) {
  for (std::size_t at = 0; at + wire::kHeaderBytes <= sent.size();) {
    const auto header = wire::decode_header(header_at(sent, at), UINT32_MAX);
    REQUIRE(header.has_value());
    at += wire::kHeaderBytes;
    if (header->type == wire::FrameType::data) see(*header, Bytes(sent).subspan(at, header->length));
    at += header->length;
  }
}

v1::Hello hello_of(v1::Role role, const std::string& name) {
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(role);
  hello.set_name(name);
  hello.set_farm("session");
  return hello;
}

// Runs to the end and returns the account.
v1::RunSummary run_to_end(MemoryFarm& farm) {
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) farm.start(name);
  RawPeer watcher;
  watcher.connect(farm.network(), farm.port_of("supervisor"));
  watcher.send(wire::FrameType::hello, hello_of(v1::ROLE_CONTROL, "watcher"));
  for (int i = 0; i < 30'000; ++i) {
    farm.turn();
    for (const RawPeer::Frame& frame : watcher.take_frames()) {
      v1::Control message;
      if (frame.header.type != wire::FrameType::control) continue;
      REQUIRE(message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())));
      if (message.has_summary()) return message.summary();
    }
  }
  FAIL("the run does not end");
  return {};
}

std::uint64_t record_counter(const v1::RunSummary& summary, const std::string& name) {
  const auto found = summary.counters().find(name);
  return found == summary.counters().end() ? 0 : found->second;
}

struct QuietPeer {
  QuietPeer() { spdlog::set_level(spdlog::level::off); }
};

// A connection to a writer under the name of a DCM, which has been granted `bytes`.
struct Granted {
  Granted(MemoryFarm& farm, std::uint64_t bytes) : farm_(farm) {
    peer.connect(farm.network(), farm.port_of("writer-0"));
    peer.send(wire::FrameType::hello, hello_of(v1::ROLE_DCM, "dcm-9"));
    v1::Control ask;
    ask.mutable_space()->set_wanted_total(bytes);
    peer.send(ask);
    farm.turn(5);
  }
  void send(const wire::FrameHeader& header, std::size_t payload_bytes) {
    std::vector<std::byte> frame(wire::kHeaderBytes + payload_bytes);
    wire::encode_header(header, header_at(frame, 0));
    peer.send(frame);
    farm_.turn(2);
  }
  void piece(std::uint32_t length, std::uint64_t total, std::uint64_t offset, std::uint64_t slice = 5) {
    send(wire::data_header(SliceId(slice), Attempt(0), length, {total, offset}), length);
  }
  // Returns the slices that the writer has refused since the last call.
  std::vector<v1::Refused::One> refused() {
    std::vector<v1::Refused::One> all;
    for (const RawPeer::Frame& frame : peer.take_frames()) {
      v1::Control message;
      if (frame.header.type != wire::FrameType::control ||
          !message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) {
        continue;
      }
      all.insert(all.end(), message.refused().records().begin(), message.refused().records().end());
    }
    return all;
  }

  RawPeer peer;

 private:
  MemoryFarm& farm_;
};

}  // namespace

constexpr std::uint64_t kPadding = 8;  // of a header in a run file

TEST_CASE("a record that is longer than a frame is sent in pieces, and stored like any other") {
  const QuietPeer quiet;
  std::uint64_t whole_bytes = 0;
  for (const char* frame_bytes_max : {"64KiB", "16000", "8192", "8000"}) {
    CAPTURE(frame_bytes_max);
    MemoryFarm farm(farm_of(frame_bytes_max), kRecordSlices);
    std::uint64_t pieces = 0;
    farm.network().on_the_way = [&](std::vector<std::byte>& sent) {
      each_data_frame(sent, [&](const wire::FrameHeader& header, Bytes) {
        if (wire::record_piece(header).total > 0) ++pieces;
      });
    };
    const v1::RunSummary summary = run_to_end(farm);
    CHECK(summary.balanced());
    CHECK_FALSE(summary.faults());
    CHECK(record_counter(summary, "stored") == kRecordSlices);
    if (whole_bytes == 0) {
      CHECK(pieces == 0);
      whole_bytes = farm.bytes_stored();
      CHECK(whole_bytes > kRecordSlices * kRecordBytesMin);
    } else {
      CHECK(pieces >= 2 * kRecordSlices);
      // The file's header has the farm file, in which the size has as many digits or one less, padded.
      CHECK(farm.bytes_stored() <= whole_bytes);
      CHECK(farm.bytes_stored() + kPadding >= whole_bytes);
    }
  }
}

TEST_CASE("every slice is stored although one in five records is damaged in transit") {
  const QuietPeer quiet;
  MemoryFarm farm(farm_of(), kRecordSlices);
  std::set<std::uint64_t> damaged;
  std::uint64_t records = 0;
  farm.network().on_the_way = [&](std::vector<std::byte>& sent) {
    each_data_frame(sent, [&](const wire::FrameHeader& header, Bytes payload) {
      if (header.attempt.value > 0 || ++records % 5 != 0) return;
      payload[payload.size() * (records / 5 % 7) / 7] ^= std::byte{0x40};
      damaged.insert(header.slice.value);
    });
  };
  const v1::RunSummary summary = run_to_end(farm);
  INFO(summary.ledger_text());
  CHECK(damaged.size() == kRecordSlices / 5);
  CHECK(summary.balanced());
  CHECK(record_counter(summary, "stored") == kRecordSlices);
  CHECK(record_counter(summary, "supervisor.records_refused") == damaged.size());
  CHECK(summary.faults());
  REQUIRE(summary.faults_text_size() == 1);
  CHECK_THAT(summary.faults_text(0), Catch::ContainsSubstring(" refused by writers"));
}

TEST_CASE(
    "slices with records that are damaged each time are discarded as writer_refused, and the run continues") {
  const QuietPeer quiet;
  MemoryFarm farm(farm_of(), kRecordSlices);
  farm.network().on_the_way = [](std::vector<std::byte>& sent) {
    each_data_frame(sent, [](const wire::FrameHeader& header, Bytes payload) {
      if (header.slice.value % 5 == 0) payload.back() ^= std::byte{1};
    });
  };
  const v1::RunSummary summary = run_to_end(farm);
  INFO(summary.ledger_text());
  CHECK(summary.balanced());
  CHECK(record_counter(summary, "stored") == kRecordSlices - kRecordSlices / 5);
  CHECK(record_counter(summary, "discarded.writer_refused") == kRecordSlices / 5);
  CHECK(record_counter(summary, "supervisor.records_refused") == 3 * kRecordSlices / 5);
  CHECK(summary.faults());
}

TEST_CASE("a writer reports which record it refuses and why, and grants the room again") {
  const QuietPeer quiet;
  MemoryFarm farm(farm_of());
  farm.start("writer-0");
  farm.turn(5);
  Granted dcm(farm, 60'000);
  dcm.send(wire::data_header(SliceId(5), Attempt(0), 60'000), 60'000);
  auto refused = dcm.refused();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].record() == 1);
  CHECK(refused[0].reason() == "malformed");
  CHECK_FALSE(refused[0].again());
  // There would be no room for another one if the first were still charged.
  v1::Control ask;
  ask.mutable_space()->set_wanted_total(120'000);
  dcm.peer.send(ask);
  farm.turn(5);
  dcm.piece(10'000, 60'000, 0);
  for (std::uint64_t offset = 10'000; offset < 60'000; offset += 10'000) dcm.piece(10'000, 60'000, offset);
  refused = dcm.refused();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].record() == 2);
  CHECK_FALSE(dcm.peer.closed());
}

TEST_CASE("pieces that do not follow each other, or of more than was granted, end the connection") {
  const QuietPeer quiet;
  MemoryFarm farm(farm_of());
  farm.start("writer-0");
  farm.turn(5);
  Granted dcm(farm, 1000);
  SECTION("the first one is missing") { dcm.piece(10, 100, 10); }
  SECTION("the record is longer than was granted, whatever the piece") { dcm.piece(10, 1001, 0); }
  SECTION("one in the middle is missing") {
    dcm.piece(10, 100, 0);
    dcm.piece(10, 100, 20);
  }
  SECTION("another record before the end") {
    dcm.piece(10, 100, 0);
    dcm.piece(10, 100, 10, 6);
  }
  SECTION("a whole record before the end") {
    dcm.piece(10, 100, 0);
    dcm.send(wire::data_header(SliceId(5), Attempt(0), 10), 10);
  }
  SECTION("another length") {
    dcm.piece(10, 100, 0);
    dcm.piece(10, 101, 10);
  }
  SECTION("no byte") { dcm.send(wire::data_header(SliceId(5), Attempt(0), 0), 0); }
  CHECK(dcm.peer.closed());
}

TEST_CASE("a connection that is lost between two pieces costs its writer no room") {
  const QuietPeer quiet;
  MemoryFarm farm(farm_of());
  farm.start("writer-0");
  farm.turn(5);
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    Granted dcm(farm, 60'000);
    dcm.piece(10'000, 60'000, 0);
    CHECK_FALSE(dcm.peer.closed());
    dcm.peer.leave();
    farm.turn(3);
  }
}

TEST_CASE("a writer forgets the dead copies of settled slices, and remembers those of unsettled ones") {
  const QuietPeer quiet;
  MemoryFarm farm(farm_of());
  RawListener listener(farm.network(), 19'000);
  farm.start("writer-0");
  farm.turn(20);
  REQUIRE(listener.peers().size() == 1);
  RawPeer& supervisor = *listener.peers().back();
  supervisor.send(wire::FrameType::hello, hello_of(v1::ROLE_SUPERVISOR, "supervisor"));
  farm.turn(2);
  v1::Control message;
  for (std::uint64_t slice = 0; slice < 10; ++slice) {
    v1::Settled::Copy& copy = *message.mutable_settled()->add_copies();
    copy.set_slice(slice);
    copy.set_epoch(1);
    copy.set_settled(slice != 7);
  }
  supervisor.send(message);
  farm.turn(2);
  (void)supervisor.take_frames();
  farm.turn(100);
  std::optional<double> unsettled;
  for (const RawPeer::Frame& frame : supervisor.take_frames()) {
    v1::Control said;
    if (frame.header.type != wire::FrameType::control) continue;
    REQUIRE(said.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())));
    if (said.has_report()) unsettled = said.report().gauges().at("slices_in_flight");
  }
  CHECK(unsettled == 1);
}

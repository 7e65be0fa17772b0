// Tests of one writer with a scripted supervisor.
#include "memory_farm.hpp"
#include "raw_peer.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr char kWriterSettings[] =
    "trigger: {mode: max}\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "supervisor: {status_interval_ms: 20}\n"
    "network: {reconnect_ms: 10}\n"
    "filter: {plugin: accept-all}\n"
    "readout: {count: 1}\n"
    "dcm: {count: 1}\n"
    "writer: {count: 1, sync_interval_ms: 5}\n";

}  // namespace

TEST_CASE(
    "a writer that is told to end before its first file has room reports, and ends when there is some") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kWriterSettings);
  RawListener listener(farm.network(), 19'000);
  farm.start("writer-0");
  farm.disk_of("writer-0").capacity = 0;
  farm.turn(20);
  REQUIRE(listener.peers().size() == 1);  // it waits for room, and is there
  RawPeer& supervisor = *listener.peers().front();
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_SUPERVISOR);
  hello.set_name("supervisor");
  hello.set_farm("session");
  supervisor.send(wire::FrameType::hello, hello);
  v1::Control begin;
  begin.mutable_begin_run()->set_run(1);
  supervisor.send(begin);
  farm.turn(50);
  v1::Control end;
  end.mutable_end_run()->set_shutdown(true);
  supervisor.send(end);
  farm.turn(50);
  CHECK_FALSE(farm.node("writer-0").finished());

  farm.disk_of("writer-0").capacity = UINT64_MAX;
  farm.turn(3000);
  v1::Report report;
  for (const RawPeer::Frame& frame : supervisor.take_frames()) {
    v1::Control message;
    if (frame.header.type != wire::FrameType::control) continue;
    REQUIRE(message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())));
    if (message.has_report()) report = message.report();
  }
  CHECK(report.final());
  CHECK(report.files_size() == 1);
  CHECK(farm.node("writer-0").finished());
  CHECK(farm.node("writer-0").failure() == "");
}

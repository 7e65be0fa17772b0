// Source plugins that were built outside, in the real readouts of a farm.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::system_test;

FarmEnd run_with(const TemporaryFolder& folder, const std::string& plugin) {
  const std::string farm = folder.write("farm.yaml", std::string("farm: outside\n"
                                                                 "source:\n"
                                                                 "  kind: plugin\n"
                                                                 "  plugin: ") +
                                                         plugin +
                                                         "\n"
                                                         "  search_path: [\"" WEIR_DOWNSTREAM_PLUGINS
                                                         "\"]\n"
                                                         "readout: {count: 2, sources_per_readout: 2}\n");
  return run_farm(folder, farm, {"--slices", "500"});
}

struct Fragments {
  std::uint64_t kept = 0;
  std::uint64_t missing = 0;
  std::uint64_t wrong = 0;
};

// `good` looks at one fragment.
template <class Good>
Fragments look(const TemporaryFolder& folder, Good good) {
  Fragments found;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      if (fragment.record.status == FragmentStatus::missing) ++found.missing;
      if (!fragment.record.kept) continue;
      ++found.kept;
      found.wrong += good(slice.head().slice.value, fragment) ? 0 : 1;
    }
  });
  return found;
}

}  // namespace

TEST_CASE("a source of ten lines that was built outside serves a farm") {
  const TemporaryFolder folder;
  const FarmEnd end = run_with(folder, "ramp");
  CHECK_BALANCED(end, 0);
  const Fragments found = look(folder, [](std::uint64_t slice, const storage::FragmentView& fragment) {
    return fragment.bytes.size() == 100 &&
           fragment.bytes[99] == static_cast<std::byte>(fragment.record.source.value + slice);
  });
  CHECK(found.kept == 2000);
  CHECK(found.wrong == 0);
}

TEST_CASE("a source in plain C from a project without C++ serves a farm") {
  const TemporaryFolder folder;
  const FarmEnd end = run_with(folder, "slice-number");
  CHECK_BALANCED(end, 0);
  const Fragments found = look(folder, [](std::uint64_t slice, const storage::FragmentView& fragment) {
    return fragment.bytes.size() == 8 && load_le<std::uint64_t>(fragment.bytes.data()) == slice;
  });
  CHECK(found.kept == 2000);
  CHECK(found.wrong == 0);
}

TEST_CASE("a source with its own thread delivers the slices that were announced to it") {
  const TemporaryFolder folder;
  const FarmEnd end = run_with(folder, "on-demand");
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("fragments.missing.not_produced") ==
        500);  // a source per readout, every second slice
  CHECK(end.summary.count("source.fetched") == 1000);
  const Fragments found = look(folder, [](std::uint64_t, const storage::FragmentView& fragment) {
    return fragment.bytes.size() == 100 && fragment.bytes[99] == std::byte{7};
  });
  CHECK(found.kept == 1500);
  CHECK(found.missing == 500);
  CHECK(found.wrong == 0);
}

TEST_CASE("a source with a socket delivers each datagram, and counts the malformed ones") {
  const TemporaryFolder folder;
  const int board = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  const int probe = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  REQUIRE(::getsockname(probe, reinterpret_cast<sockaddr*>(&at), &length) == 0);
  ::close(probe);
  const std::string farm =
      folder.write("farm.yaml",
                   "farm: outside\n"
                   "source: {kind: plugin, plugin: board, search_path: [\"" WEIR_DOWNSTREAM_PLUGINS
                   "\"], parameters: {port: " +
                       std::to_string(ntohs(at.sin_port)) +
                       "}, wait_ms: 20000}\n"
                       "trigger: {mode: rate, rate_hz: 200}\n"
                       "dcm: {deadline_ms: 30000}\n"
                       "readout: {nodes: [{name: crate, sources: [5, 6]}]}\n");
  FarmRun run(folder, farm, {"--slices", "100"});
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  const auto send = [&](const void* bytes, std::size_t size) {
    REQUIRE(::sendto(board, bytes, size, 0, reinterpret_cast<const sockaddr*>(&at), sizeof at) ==
            static_cast<ssize_t>(size));
  };
  send("short", 5);
  for (std::uint64_t slice = 0; slice < 100; ++slice) {
    for (std::uint32_t source = 5; source <= 6; ++source) {
      std::byte datagram[16] = {};
      std::memcpy(datagram, &source, sizeof source);
      std::memcpy(datagram + 4, &slice, sizeof slice);
      datagram[12] = static_cast<std::byte>(source + slice);
      send(datagram, sizeof datagram);
    }
  }
  ::close(board);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("source.malformed") == 1);
  const Fragments found = look(folder, [](std::uint64_t slice, const storage::FragmentView& fragment) {
    return fragment.bytes.size() == 4 &&
           fragment.bytes[0] == static_cast<std::byte>(fragment.record.source.value + slice);
  });
  CHECK(found.kept == 200);
  CHECK(found.missing == 0);
  CHECK(found.wrong == 0);
}

TEST_CASE("a source of another ABI ends the run with both versions and the remedy") {
  const TemporaryFolder folder;
  const FarmEnd end = run_with(folder, "source-from-tomorrow");
  CHECK(end.status == 1);
  CHECK_THAT(end.logs + end.err, Catch::ContainsSubstring("source ABI 2, this Weir needs ABI 1") &&
                                     Catch::ContainsSubstring("SourceSDK"));
}

// A static window in a lab of two hosts, with root, clang and a kernel with type information; otherwise ctest
// shows SKIPPED with the reason.
#include "skip.hpp"
#include "weir_catch.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run/static_window.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weir::run {
namespace {

constexpr const char* kProgram = WEIR_BIN_DIR "/weir-static-window";

bool is_known(const std::string& name) {
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  const std::string names(std::istreambuf_iterator<char>(file), {});
  return (" " + names.substr(0, names.size() - 1) + " ").find(" " + name + " ") != std::string::npos;
}

struct Sent {
  std::uint32_t retransmitted = 0;
  std::size_t samples = 0;
  std::size_t kept = 0;  // samples with the window of the plan
};

// Sends from h0 to h1 through a port that drops, for a second, and reads the sender's window.
Sent send_with(const lab::LabPlan& plan, const lab::LabNetwork& network) {
  Sent sent;
  std::thread([&] {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    ::inet_pton(AF_INET, plan.hosts[1].address.c_str(), &address.sin_addr);
    if (!network.enter(lab::kFirstHost + 1)) return;
    const OwnedDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener.get(), 1) != 0)
      return;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    std::thread receiver([&] {
      const OwnedDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::vector<char> bytes(65'536);
      while (::recv(socket.get(), bytes.data(), bytes.size(), 0) > 0) {
      }
    });
    if (network.enter(lab::kFirstHost)) {
      const OwnedDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) {
        const std::vector<char> bytes(65'536);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        while (std::chrono::steady_clock::now() < until &&
               ::send(socket.get(), bytes.data(), bytes.size(), 0) > 0) {
          tcp_info info{};
          socklen_t length = sizeof info;
          ::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &length);
          sent.retransmitted = info.tcpi_total_retrans;
          ++sent.samples;
          if (info.tcpi_snd_cwnd == plan.window_segments) ++sent.kept;
        }
      }
      ::shutdown(socket.get(), SHUT_RDWR);
    }
    receiver.join();
  }).join();
  return sent;
}

}  // namespace

TEST_CASE("a connection keeps its static window through losses, and the name leaves with its process") {
  if (const std::string why = lab::LabNetwork::refusal(); !why.empty()) return weir::skip_test(why);
  auto window = StaticWindow::start(40, kProgram);
  if (!window) return weir::skip_test(window.error());
  auto other = StaticWindow::start(40, kProgram);  // of another lab at the same time
  REQUIRE(other);
  CHECK(window->name() != other->name());
  const std::string name = window->name();
  CHECK(is_known(name));
  const auto file = config::read_lab(
      "lab: kept\nhost_count: 2\nport_rate: 50mbit\nport_buffer: 20k\nwindow_segments: 40\nstatic_window: "
      "true\n",
      "lab.yaml");
  REQUIRE(file);
  auto plan = lab::plan_lab(*file, nullptr);
  REQUIRE(plan);
  for (const bool kept : {true, false}) {
    CAPTURE(kept);
    plan->set_congestion_control(kept ? name : "reno");
    const auto network = lab::LabNetwork::make(*plan);
    REQUIRE(network);
    const Sent sent = send_with(*plan, *network);
    CAPTURE(sent.retransmitted, sent.samples, sent.kept);
    REQUIRE(sent.samples > 10);
    CHECK(sent.retransmitted > 10);
    if (kept) {
      // After a timeout the kernel has a smaller window until the next acknowledgement.
      CHECK(sent.kept >= sent.samples * 9 / 10);
    } else {
      CHECK(sent.kept < sent.samples / 2);
    }
  }
  { const StaticWindow ends = std::move(*window); }
  // Its sockets are closed, so the kernel forgets it at once, or when the last closing connection has left.
  for (int i = 0; i < 500 && is_known(name); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK_FALSE(is_known(name));
  CHECK(is_known(other->name()));
}

TEST_CASE("a window that no name can hold is refused with a sentence") {
  const auto window = StaticWindow::start(10'000, kProgram);
  REQUIRE_FALSE(window);
  CHECK_THAT(window.error(), Catch::Matchers::StartsWith("no static window: "));
}

}  // namespace weir::run

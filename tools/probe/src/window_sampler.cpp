#include "window_sampler.hpp"

#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>

#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace weir::probe {
namespace {

constexpr std::size_t kSamplesMax = 60'000;

}  // namespace

WindowSampler::WindowSampler(int socket)
    : socket_(socket), begin_ns_(monotonic_now_ns()), thread_([this] { run(); }) {}

WindowSampler::~WindowSampler() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
}

std::vector<WindowSample> WindowSampler::stop(std::uint32_t& left_out) {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
  WEIR_ASSERT(samples_.size() <= kSamplesMax);
  left_out = left_out_;
  return std::move(samples_);
}

void WindowSampler::run() {
  for (TimeNs due = begin_ns_; !stops_; due += kMillisecond) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
    if (samples_.size() < kSamplesMax) {
      const auto at_us = static_cast<std::uint32_t>((monotonic_now_ns() - begin_ns_) / kMicrosecond);
      samples_.push_back(
          {at_us, info.tcpi_snd_cwnd, info.tcpi_unacked, info.tcpi_rtt, info.tcpi_total_retrans});
    } else {
      ++left_out_;
    }
    const timespec next{(due + kMillisecond) / kSecond, (due + kMillisecond) % kSecond};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
  }
}

}  // namespace weir::probe

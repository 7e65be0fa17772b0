#include "garbage_frames.hpp"

#include <weir/switching/pause.hpp>

#include <algorithm>
#include <utility>

namespace weir::system_test {
namespace {

constexpr std::size_t kTypeAt = 12;
constexpr std::size_t kIpAt = 14;
constexpr std::size_t kFragmentAt = 20;
constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kArp = 0x0806;
constexpr std::uint16_t kIpv6 = 0x86dd;
constexpr std::uint16_t kVlan = 0x8100;
constexpr std::uint16_t kUnknown = 0x9000;
constexpr std::uint16_t kControlType = 0x8808;
constexpr std::size_t kFullFrame = 1514;

void put_16(std::vector<std::byte>& frame, std::size_t at, std::uint32_t value) {
  frame[at] = static_cast<std::byte>(value >> 8U);
  frame[at + 1] = static_cast<std::byte>(value & 0xffU);
}

}  // namespace

// Hosts of the lab have addresses 10.77.1.N and 02:77:00:00:00:0N.
GarbageFrames::Frame GarbageFrames::to(switching::Address address, std::size_t bytes) {
  Frame frame =
      switching::frame_to(address, static_cast<std::uint16_t>(1 + draw(65535)), bytes, draw(1U << 31U));
  const auto put_host = [&](std::size_t at, switching::Address host) {
    put_16(frame, at, 0x0277);
    put_16(frame, at + 4, host & 0xffU);
  };
  put_host(0, address);
  put_host(6, spoofed_);
  put_16(frame, 26, spoofed_ >> 16U);
  put_16(frame, 28, spoofed_ & 0xffffU);
  return frame;
}

GarbageFrames::Frame GarbageFrames::random_frame(std::uint16_t type) {
  Frame frame(kIpAt + draw(kFullFrame - kIpAt));
  for (std::byte& byte : frame) byte = static_cast<std::byte>(draw(256));
  put_16(frame, kTypeAt, type);
  return frame;
}

std::vector<GarbageFrame> GarbageFrames::make(int rounds) {
  std::vector<GarbageFrame> all;
  for (int i = 0; i < rounds; ++i) {
    add_lengths(all);
    add_destinations(all);
    add_protocols(all);
    add_controls(all);
  }
  std::shuffle(all.begin(), all.end(), random_);
  return all;
}

void GarbageFrames::add_lengths(std::vector<GarbageFrame>& all) {
  Frame runt = to(victim_, 60);
  runt.resize(kIpAt + draw(20));
  all.push_back({"malformed", runt});
  all.push_back({"too_long", to(victim_, kFullFrame + 1 + draw(2000))});
  const auto add_malformed = [&](std::size_t at, std::uint32_t value) {
    Frame frame = to(victim_, 60 + draw(1000));
    put_16(frame, at, value);
    all.push_back({"malformed", std::move(frame)});
  };
  add_malformed(kIpAt, 0x4000 + draw(5) * 0x100);  // a header of less than 20 bytes
  add_malformed(kIpAt, 0x6500);                    // version 6 behind the type of version 4
  add_malformed(kIpAt + 2, 1600 + draw(60000));    // longer than the frame
  add_malformed(kIpAt + 2, draw(20));              // shorter than its header
}

void GarbageFrames::add_destinations(std::vector<GarbageFrame>& all) {
  all.push_back({"no_route", to(0xe0000001 + draw(1000), 60 + draw(1000))});  // multicast
  all.push_back({"no_route", to(0xffffffff, 60)});
  all.push_back({"no_route", to(0x0a4d0909, 60)});
  all.push_back({"same_port", to(own_, 60 + draw(1000))});
  all.push_back({"forwarded", to(victim_, 60 + draw(1454))});
  Frame first = to(victim_, 60 + draw(1000));
  put_16(first, kFragmentAt, 0x2000);
  all.push_back({"forwarded", std::move(first)});
  Frame later = to(victim_, 60 + draw(1000));
  put_16(later, kFragmentAt, 1 + draw(0x1fff));
  all.push_back({"forwarded", std::move(later)});
}

void GarbageFrames::add_protocols(std::vector<GarbageFrame>& all) {
  for (const std::uint16_t type : {kIpv6, kUnknown}) all.push_back({"other_protocol", random_frame(type)});
  Frame tagged = to(victim_, 100);
  const Frame tag{std::byte{kVlan >> 8U}, std::byte{0}, std::byte{0}, static_cast<std::byte>(1 + draw(99))};
  tagged.insert(tagged.begin() + kTypeAt, tag.begin(), tag.end());
  all.push_back({"other_protocol", std::move(tagged)});
  all.push_back({"unknown", random_frame(kIpv4)});
  Frame frame = random_frame(kArp);
  frame.resize(kIpAt + draw(28));
  all.push_back({"malformed", std::move(frame)});
  all.push_back({"no_route", switching::arp_for(0x0a4d0909)});
  Frame foreign = switching::arp_for(victim_);
  foreign[kIpAt + 1] = std::byte{6};  // of a network that is not Ethernet
  all.push_back({"other_protocol", std::move(foreign)});
}

void GarbageFrames::add_controls(std::vector<GarbageFrame>& all) {
  all.push_back({"control", random_frame(kControlType)});
  const auto pause = switching::pause_frame(switching::kLongestPause);
  all.push_back({"control", Frame(pause.begin(), pause.end())});
  all.push_back({"control", Frame(pause.begin(), pause.begin() + kIpAt + draw(4))});
}

}  // namespace weir::system_test

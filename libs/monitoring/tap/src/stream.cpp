#include <weir/tap/stream.hpp>
#include <weir/weir_filter.h>

#include <algorithm>

namespace weir::tap {
namespace {

constexpr TapStream kStreams[] = {
    {"raw", true, 0},
    {"accepted", false, ~std::uint64_t{0}},
    {"default", false, WEIR_STREAM_DEFAULT},
    {"debug", false, WEIR_STREAM_DEBUG},
};
constexpr std::size_t kIdLength = 16;

}  // namespace

std::span<const TapStream> streams() { return kStreams; }

const TapStream* find_stream(std::string_view name) {
  const auto* found = std::find_if(std::begin(kStreams), std::end(kStreams),
                                   [&](const TapStream& one) { return one.name == name; });
  return found == std::end(kStreams) ? nullptr : found;
}

std::string stream_names() {
  std::string names;
  for (const TapStream& one : kStreams) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

bool good_id(std::string_view id) {
  return id.size() == kIdLength && id.find_first_not_of("0123456789abcdef") == id.npos;
}

std::string tag_prefix(std::string_view stream, std::string_view id) {
  return "tap." + std::string(stream) + "." + std::string(id) + ".";
}

}  // namespace weir::tap

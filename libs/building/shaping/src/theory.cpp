#include <weir/shaping/theory.hpp>

#include <algorithm>
#include <cmath>

namespace weir::shaping {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kThesisSegment = 1460;
constexpr double kThesisFrame = 78;

}  // namespace

double stream_share(const EthernetLink& link) {
  const double segment = link.mtu - kIpTcpBytes - (link.timestamps ? kTimestampBytes : 0);
  return segment / (link.mtu + kFrameBytes);
}

double stream_goodput(const EthernetLink& link, double payload, double headers) {
  if (payload <= 0) return 0;
  return link.bits_per_s / kBitsPerByte * stream_share(link) * payload / (payload + headers);
}

double thesis_goodput(double bits_per_s, double payload, double header) {
  if (payload <= 0) return 0;
  const double frames = std::ceil((payload + header) / kThesisSegment);
  const double last = payload + header - (frames - 1) * kThesisSegment;
  const double padding = std::max(0.0, kFrameDataMin - kIpTcpBytes - last);
  return bits_per_s / kBitsPerByte * payload / (payload + header + padding + frames * kThesisFrame);
}

DurationNs serialisation(double bytes, double goodput) {
  if (goodput <= 0) return 0;
  return static_cast<DurationNs>(std::llround(bytes / goodput * static_cast<double>(kSecond)));
}

SafeWindow safe_window(const EthernetLink& link, DurationNs round_trip, double buffer_bytes) {
  // On the wire a buffer holds whole frames, while a window counts bytes of the stream.
  const double share = stream_share(link);
  const double product =
      link.bits_per_s / kBitsPerByte * static_cast<double>(round_trip) / static_cast<double>(kSecond);
  return {product * share, (product + buffer_bytes) * share};
}

}  // namespace weir::shaping

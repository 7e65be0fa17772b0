#include "packet_bytes.hpp"
#include <weir/base/assert.hpp>
#include <weir/packets/reassembler.hpp>

#include <cstdint>
#include <vector>

// The input is a sequence of datagrams, each behind its length in two bytes. A datagram that parses must
// equal its own encoding. All datagrams go through a small reassembler, and its limits must hold.
namespace {

using namespace weir;
using namespace weir::packets;

class Checking final : public ReassemblySink {
 public:
  void whole(SourceId, SliceId, FragmentMemory memory, bool) override {
    std::uint32_t sum = 0;  // reads every byte, so that a sanitizer finds an unwritten one
    for (std::uint32_t i = 0; i < memory.size; ++i) sum += static_cast<std::uint32_t>(memory.bytes[i]);
    sum_ = sum;
  }
  void lost(SourceId, SliceId) override {}
  void passed(SourceId, SliceId, bool) override {}
  void restarted(SourceId, const Origin&, const Origin&) override {}
  void second_sender(SourceId, const Origin&, const Origin&) override {}

 private:
  volatile std::uint32_t sum_ = 0;
};

void round_trip(ConstBytes datagram) {
  const auto packet = parse(datagram);
  if (!packet) return;
  std::vector<std::byte> again(header_bytes(*packet) + packet->payload.size());
  encode_header(*packet, std::span(again).first(header_bytes(*packet)));
  std::copy(packet->payload.begin(), packet->payload.end(),
            again.end() - static_cast<std::ptrdiff_t>(packet->payload.size()));
  const auto back = parse(again);
  WEIR_ASSERT(back.has_value());
  WEIR_ASSERT(back->slice == packet->slice && back->source == packet->source);
  WEIR_ASSERT(back->offset == packet->offset && back->total == packet->total);
  WEIR_ASSERT(back->session == packet->session);
  WEIR_ASSERT(back->sequence == packet->sequence && back->closes == packet->closes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ReassemblyLimits limits;
  limits.fragment_bytes_max = 4096;
  limits.bytes_max = 8192;
  limits.slices_max = 4;
  limits.gap_ns = 5;
  const std::vector<SourceId> sources{SourceId(1), SourceId(1003)};
  Reassembler reassembler(RunNumber(42), sources, limits);
  Checking sink;
  const ConstBytes all(reinterpret_cast<const std::byte*>(data), size);
  TimeNs now = 0;
  for (std::size_t at = 0; at + 2 <= all.size();) {
    const std::size_t length =
        std::min<std::size_t>(load_le<std::uint16_t>(all.data() + at), all.size() - at - 2);
    const ConstBytes datagram = all.subspan(at + 2, length);
    at += 2 + length;
    round_trip(datagram);
    // Several senders, with pauses shorter and longer than the silence that ends one.
    const Origin from{{10, 0, 0, static_cast<std::uint8_t>(length % 3)}, 1, false};
    now += 1 + static_cast<TimeNs>(length % 7 == 0 ? SenderTracker::kSilence : 0);
    reassembler.take(datagram, from, now, sink);
    WEIR_ASSERT(reassembler.bytes_begun() <= limits.bytes_max);
    if (now % 3 == 0) reassembler.tick(now, sink);
  }
  reassembler.drop_held();
  reassembler.tick(now + 100, sink);
  WEIR_ASSERT(reassembler.bytes_begun() == 0);
  return 0;
}

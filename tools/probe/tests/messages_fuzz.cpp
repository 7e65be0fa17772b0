#include "messages.hpp"
#include <weir/base/assert.hpp>

#include <algorithm>
#include <cstdint>

// The input is a message, and a datagram, as a peer sends them. An accepted one equals its own encoding.
namespace {

using namespace weir;
using namespace weir::probe;

template <class Message>
void round_trip(ConstBytes body) {
  const auto message = decode<Message>(body);
  if (!message) return;
  const std::vector<std::byte> bytes = encode(*message);
  WEIR_ASSERT(std::equal(body.begin(), body.end(), bytes.begin() + kHeaderBytes, bytes.end()));
}

void datagram_round_trip(ConstBytes bytes) {
  const auto datagram = decode_datagram(bytes);
  if (!datagram) return;
  std::vector<std::byte> again(kDatagramHeaderBytes);
  encode_datagram(*datagram, again);
  WEIR_ASSERT(std::equal(again.begin(), again.end(), bytes.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes bytes = std::as_bytes(std::span(data, size));
  datagram_round_trip(bytes);
  if (bytes.size() < kHeaderBytes || !decode_header(bytes)) return 0;
  const ConstBytes body = bytes.subspan(kHeaderBytes);
  round_trip<Hello>(body);
  round_trip<ProofMessage>(body);
  round_trip<Acceptance>(body);
  round_trip<Refused>(body);
  round_trip<Settings>(body);
  round_trip<Request>(body);
  round_trip<WindowWatch>(body);
  round_trip<WindowSamples>(body);
  round_trip<StreamRequest>(body);
  round_trip<StreamEnd>(body);
  round_trip<Burst>(body);
  round_trip<BurstEnd>(body);
  return 0;
}

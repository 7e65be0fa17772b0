#include <weir/base/assert.hpp>
#include <weir/capture/capture_decoder.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

// The input is a capture file. Whatever it contains, every line is clean text on one line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  for (const bool messages : {false, true}) {
    capture::DecodeOptions options;
    options.messages = messages;
    capture::CaptureDecoder decoder(
        options, [](std::string_view line) { WEIR_ASSERT(!line.empty() && line.find('\n') == line.npos); });
    (void)decoder.decode(std::as_bytes(std::span(data, size)));
  }
  return 0;
}

#include <weir/base/assert.hpp>
#include <weir/slice_rows/trigger_text.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// Every answer is one line, and a request names nothing outside its line or its limits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir::slice_rows;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto request = parse_trigger_text(line);
  const std::string answer = request ? to_text({}, request->number) : error_text(request.error(), {});
  WEIR_ASSERT(answer.find('\n') == answer.size() - 1);
  if (!request) return 0;
  WEIR_ASSERT(request->payload.size() <= kTextPayloadMax && request->number.client.size() <= kTextClientMax);
  WEIR_ASSERT(line.substr(0, request->signed_part.size()) == request->signed_part);
  WEIR_ASSERT((request->number.number == 0) == request->number.client.empty());
  return 0;
}

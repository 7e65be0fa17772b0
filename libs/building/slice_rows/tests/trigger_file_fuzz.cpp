#include <weir/base/assert.hpp>
#include <weir/slice_rows/trigger_file.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto triggers = weir::slice_rows::parse_trigger_file(text, "fuzz");
  if (!triggers) {
    WEIR_ASSERT(triggers.error().rfind("fuzz:", 0) == 0);
    return 0;
  }
  std::set<std::uint64_t> slices;
  for (const auto& trigger : *triggers) WEIR_ASSERT(slices.insert(trigger.slice.value).second);
  return 0;
}

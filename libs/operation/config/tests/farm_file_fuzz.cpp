#include <weir/base/assert.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

// Any text is either rejected with a problem, or is a farm that survives being written and read again. The
// same text is tried as an override.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = config::read_farm(text, "farm.yaml");
  if (file) {
    const auto again = config::read_farm(config::to_yaml(file->farm), "again.yaml");
    WEIR_ASSERT(again.has_value());
    WEIR_ASSERT(google::protobuf::util::MessageDifferencer::Equivalent(file->farm, again->farm));
    const config::ReplayReader nothing = [](const std::string&) {
      return Expected<config::ReplayContents, std::string>(Unexpected<std::string>("not here"));
    };
    static_cast<void>(config::to_text(config::validate(file->farm, file->locations, nothing)));
  } else {
    WEIR_ASSERT(!file.error().empty());
    static_cast<void>(config::to_text(file.error()));
  }
  v1::Farm farm;
  static_cast<void>(config::to_text(config::apply_override(farm, text)));
  return 0;
}

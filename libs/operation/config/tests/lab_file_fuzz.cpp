#include <weir/base/assert.hpp>
#include <weir/config/lab_file.hpp>

#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

// Any text is either rejected with a problem, or is a lab that survives being written and read again. The
// same text is tried as an override.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = config::read_lab(text, "lab.yaml");
  if (file) {
    const auto again = config::read_lab(config::to_yaml(file->lab), "again.yaml");
    WEIR_ASSERT(again.has_value());
    WEIR_ASSERT(google::protobuf::util::MessageDifferencer::Equivalent(file->lab, again->lab));
  } else {
    WEIR_ASSERT(!file.error().empty());
    static_cast<void>(config::to_text(file.error()));
  }
  config::LabFile lab;
  static_cast<void>(config::to_text(config::apply_lab_override(lab, text)));
  return 0;
}

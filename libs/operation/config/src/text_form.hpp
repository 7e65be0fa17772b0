#pragma once

#include <weir/v1/options.pb.h>

#include <string_view>

namespace weir::config {

// Returns nullptr if `text` has the form, else the error, to follow the text ("is not host:port").
[[nodiscard]] const char* check_form(v1::TextForm form, std::string_view text);

}  // namespace weir::config

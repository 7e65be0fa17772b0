#pragma once

#include <weir/v1/options.pb.h>

#include <string_view>

namespace weir::config {

// nullptr when `text` has the form; else what is wrong, to follow the text ("is not host:port").
[[nodiscard]] const char* check_form(v1::TextForm form, std::string_view text);

}  // namespace weir::config

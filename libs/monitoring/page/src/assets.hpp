#pragma once

#include <string_view>
#include <vector>

namespace weir::page {

// A file of the page, compiled in.
struct Asset {
  std::string_view name;  // "page.html"
  std::string_view bytes;
};
[[nodiscard]] const std::vector<Asset>& assets();

}  // namespace weir::page

#include <weir/http/server.hpp>

namespace weir::http {

std::string event_text(std::string_view name, std::string_view data) {
  std::string text;
  text.reserve(name.size() + data.size() + 32);
  if (!name.empty()) text.append("event: ").append(name).append("\n");
  // The protocol has three line ends, and each ends a `data` line, so each begins a new one.
  text.append("data: ");
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == '\r' && i + 1 < data.size() && data[i + 1] == '\n') continue;
    if (data[i] == '\n' || data[i] == '\r') {
      text.append("\ndata: ");
    } else {
      text.push_back(data[i]);
    }
  }
  return text.append("\n\n");
}

}  // namespace weir::http

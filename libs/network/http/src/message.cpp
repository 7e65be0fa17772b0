#include <weir/http/message.hpp>

#include <string_view>

namespace weir::http {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' && plus_is_space ? ' ' : text[i]);
    }
  }
  return out;
}

}  // namespace

std::map<std::string, std::string> parse_query(const std::string& text) {
  std::map<std::string, std::string> values;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const std::string key = decode(pair.substr(0, equals), true);
    if (!key.empty())
      values[key] = equals == pair.npos ? std::string() : decode(pair.substr(equals + 1), true);
  }
  return values;
}

std::string decode_path(const std::string& target) {
  return decode(std::string_view(target).substr(0, target.find('?')), false);
}

}  // namespace weir::http

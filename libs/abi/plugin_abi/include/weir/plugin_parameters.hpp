// Typed reading of a plugin's parameters. Part of weir/filter.hpp and weir/source.hpp.
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weir {
inline namespace plugin_v1 {

namespace plugin_detail {

template <class T>
[[nodiscard]] std::string as_text(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

[[noreturn]] inline void refuse(std::string_view name, std::string_view value, const std::string& why) {
  throw std::invalid_argument("parameter '" + std::string(name) + "': '" + std::string(value) + "' " + why);
}

template <class T>
[[nodiscard]] T parse_number(std::string_view name, std::string_view value) {
  constexpr const char* kWhat = std::is_floating_point_v<T> ? "is not a number" : "is not a whole number";
  T number{};
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  const bool negative = std::is_unsigned_v<T> && value.size() > 1 && value[0] == '-' &&
                        value.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (negative || (error == std::errc::result_out_of_range && stop == end)) {
    refuse(name, value,
           "is not between " + as_text(std::numeric_limits<T>::lowest()) + " and " +
               as_text(std::numeric_limits<T>::max()));
  }
  if (error != std::errc{} || stop != end || value.empty()) refuse(name, value, kWhat);
  return number;
}

[[nodiscard]] inline bool parse_bool(std::string_view name, std::string_view value) {
  if (value == "true" || value == "yes" || value == "on") return true;
  if (value == "false" || value == "no" || value == "off") return false;
  refuse(name, value, "is not true or false");
}

}  // namespace plugin_detail

// The farm file's parameters in the ABI's form: a table of {name, value} with its count and stride. An
// invalid value throws std::invalid_argument. A parameter that the constructor has not read is refused when
// it returns.
template <class Parameters>
class PluginParameters {
 public:
  // `what` is the kind of plugin, for error texts: "filter".
  PluginParameters(const Parameters* parameters, const char* what) : parameters_(parameters), what_(what) {}

  // Returns the parameter, or `fallback` if it is not given; its type is that of `fallback`.
  template <class T>
  [[nodiscard]] T parameter(const char* name, T fallback) {
    const std::optional<std::string_view> value = look_up(name);
    return value ? parse<T>(name, *value) : fallback;
  }
  [[nodiscard]] std::string parameter(const char* name, const char* fallback) {
    return parameter(name, std::string(fallback));
  }
  // The same, but refuses values outside [lowest, highest].
  template <class T>
  [[nodiscard]] T parameter(const char* name, T fallback, T lowest, T highest) {
    const T value = parameter(name, fallback);
    if (!(value >= lowest && value <= highest)) {
      plugin_detail::refuse(
          name, find(name).value_or("the default"),
          "is not between " + plugin_detail::as_text(lowest) + " and " + plugin_detail::as_text(highest));
    }
    return value;
  }
  template <class T>
  [[nodiscard]] T required(const char* name) {
    const std::optional<std::string_view> value = look_up(name);
    if (!value) throw std::invalid_argument("parameter '" + std::string(name) + "' is missing");
    return parse<T>(name, *value);
  }
  // Returns the index of the given word in `words`; the first one is the default.
  [[nodiscard]] std::size_t choice(const char* name, const std::vector<std::string>& words) {
    const std::optional<std::string_view> value = look_up(name);
    if (!value) return 0;
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == *value) return i;
      list += (i == 0 ? "" : ", ") + words[i];
    }
    plugin_detail::refuse(name, *value, "is not one of: " + list);
  }
  // Reads a list of numbers and ranges such as `0,2,8-11`. Returns it sorted, without duplicates; empty if
  // not given.
  [[nodiscard]] std::vector<std::uint32_t> sources(const char* name) {
    const std::optional<std::string_view> value = look_up(name);
    return value ? parse_sources(name, *value) : std::vector<std::uint32_t>{};
  }

  // Throws if a parameter was given that has not been read.
  void refuse_unknown() const {
    for (std::uint32_t i = 0; i < parameters_->count; ++i) {
      const std::string_view given = at(i).name;
      if (std::find(known_.begin(), known_.end(), given) != known_.end()) continue;
      std::string list;
      for (const std::string& name : known_) list += (list.empty() ? "" : ", ") + name;
      throw std::invalid_argument(
          "unknown parameter '" + std::string(given) +
          "': " + (list.empty() ? "this " + what_ + " takes none" : "this " + what_ + " knows " + list));
    }
  }

 private:
  static constexpr std::uint32_t kSourceRangeMax = 1'000'000;

  template <class T>
  [[nodiscard]] static T parse(const char* name, std::string_view value) {
    if constexpr (std::is_same_v<T, bool>) {
      return plugin_detail::parse_bool(name, value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return plugin_detail::parse_number<T>(name, value);
    } else {
      return T(value);
    }
  }

  [[nodiscard]] static std::vector<std::uint32_t> parse_sources(const char* name, std::string_view value) {
    std::vector<std::uint32_t> sources;
    for (std::string_view rest = value; !rest.empty();) {
      const std::size_t comma = rest.find(',');
      const std::string_view item = trim(rest.substr(0, comma));
      const std::size_t dash = item.find('-');
      const auto first = plugin_detail::parse_number<std::uint32_t>(name, trim(item.substr(0, dash)));
      const auto last = dash == std::string_view::npos
                            ? first
                            : plugin_detail::parse_number<std::uint32_t>(name, trim(item.substr(dash + 1)));
      if (last < first || last - first >= kSourceRangeMax)
        plugin_detail::refuse(name, item, "is not a range of sources");
      for (std::uint32_t i = 0; i <= last - first; ++i) sources.push_back(first + i);
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    return sources;
  }

  [[nodiscard]] static std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
  }

  [[nodiscard]] const auto& at(std::uint32_t index) const {
    using Entry = std::remove_reference_t<decltype(*parameters_->table)>;
    const auto* bytes = reinterpret_cast<const char*>(parameters_->table);
    return *reinterpret_cast<const Entry*>(bytes + std::size_t{index} * parameters_->stride);
  }
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const {
    for (std::uint32_t i = 0; i < parameters_->count; ++i) {
      if (at(i).name == name) return at(i).value;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string_view> look_up(const char* name) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.emplace_back(name);
    return find(name);
  }

  const Parameters* parameters_;
  std::string what_;
  std::vector<std::string> known_;
};

}  // namespace plugin_v1
}  // namespace weir

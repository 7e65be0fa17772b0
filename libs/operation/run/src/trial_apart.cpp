#include "trial_apart.hpp"

#include <weir/launch/apart.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace weir::run {
namespace {

constexpr DurationNs kPluginTrialMax = 30 * kSecond;  // a filter may take this long to start in a run

// Texts as one: each behind its size.
std::string packed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += fmt::format("{}:{}", text.size(), text);
  return all;
}

std::vector<std::string> unpacked(const std::string& all) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t size = std::stoul(all.substr(at, all.find(':', at) - at));
    at = all.find(':', at) + 1;
    texts.push_back(all.substr(at, size));
    at += size;
  }
  return texts;
}

}  // namespace

config::Problems try_apart(const plugin_trial::TriedFarm& tried, const std::string& key,
                           std::string& description, const Trial& attempt) {
  const auto work = [&] {
    std::vector<std::string> texts{""};
    for (const config::Problem& one : attempt(tried, texts.front()))
      texts.insert(texts.end(), {one.where, one.key, one.what});
    return packed(texts);
  };
  const auto answer = launch::run_apart(work, kPluginTrialMax);
  const auto error = [](std::string where, std::string at, std::string what) {
    return config::Problem{config::ProblemKind::bad_value, config::Severity::error, std::move(where),
                           std::move(at), std::move(what)};
  };
  if (!answer)
    return {error(tried.locations.of(key), key, "the plugin " + answer.error() + " when it is tried")};
  const std::vector<std::string> texts = unpacked(*answer);
  description = texts.front();
  config::Problems problems;
  for (std::size_t i = 1; i + 2 < texts.size(); i += 3)
    problems.push_back(error(texts[i], texts[i + 1], texts[i + 2]));
  return problems;
}

}  // namespace weir::run

#pragma once

#include <weir/config/problem.hpp>
#include <weir/plugin_trial/plugin_trial.hpp>

#include <functional>
#include <string>

namespace weir::run {

using Trial = std::function<config::Problems(const plugin_trial::TriedFarm&, std::string& description)>;

// Tries plugins in a child process, because they may end or block it. Returns their problems; one of a child
// that died or took too long has this key.
[[nodiscard]] config::Problems try_apart(const plugin_trial::TriedFarm& tried, const std::string& key,
                                         std::string& description, const Trial& attempt);

}  // namespace weir::run

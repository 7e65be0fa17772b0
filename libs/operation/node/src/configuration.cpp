#include "configuration.hpp"

#include <exception>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::node {

std::string Configuration::begin(const v1::Order& order, TimeNs now_ns) {
  if (!order.has_farm())
    return "run control sent no farm: it is older than this process; install the same version for both "
           "same";
  std::vector<std::string> keys;
  for (const std::string& one : order.sets()) keys.push_back(key_of(one));
  try {
    Setup setup = make_setup(line_, order.farm(), keys, role_);
    // During a run: other files than the run's are refused as such, whatever they make of its parameters.
    if (has_plugins_ && order.has_identity()) {
      const v1::RunIdentity loadable = loadable_parts(setup);
      for (const auto& part : loadable.parts()) require(order.identity(), part);
    }
    // In a farm for one run, `start` follows at once and makes the instance itself.
    if (has_plugins_ && !line_.one_run && order.limit_ms() > 0) {
      begin_trial(order, std::move(setup), now_ns);
    } else {
      take(std::move(setup), order.epoch());
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

void Configuration::begin_trial(const v1::Order& order, Setup setup, TimeNs now_ns) {
  std::vector<std::string> arguments{"--farm",        line_.farm_file,
                                     "--name",        line_.name,
                                     "--try-plugins", "--die-with-parent=" + std::to_string(::getpid())};
  for (const std::string& one : order.sets()) arguments.insert(arguments.end(), {"--set", one});
  // Ends before run control's own limit, so that run control receives the reason.
  const DurationNs limit = static_cast<DurationNs>(order.limit_ms()) * kMillisecond / 4 * 3;
  trying_.reset(new Trying{{"/proc/self/exe", arguments, order.farm().SerializeAsString(), now_ns, limit},
                           order.id(),
                           order.epoch(),
                           std::move(setup)});
}

std::optional<Configuration::Trial> Configuration::look(TimeNs now_ns) {
  if (!trying_) return std::nullopt;
  const std::optional<std::string> problem = trying_->child.result(now_ns);
  if (!problem) return std::nullopt;
  const std::unique_ptr<Trying> tried = std::move(trying_);
  Trial trial{tried->order, *problem};
  if (!problem->empty()) return trial;
  try {
    take(std::move(tried->setup), tried->epoch);
  } catch (const std::exception& error) {
    trial.error = error.what();
  }
  return trial;
}

void Configuration::take(Setup setup, std::uint64_t epoch) {
  setup_ = std::move(setup);
  plugins_.note(*setup_);
  identity_ = loadable_parts(*setup_);
  epoch_ = epoch;
}

void Configuration::look_at_plugins() {
  if (!setup_ || !plugins_.has_changed(*setup_)) return;
  plugins_.note(*setup_);
  identity_ = loadable_parts(*setup_);
}

void Configuration::reset() {
  setup_.reset();
  epoch_ = 0;
}

}  // namespace weir::node

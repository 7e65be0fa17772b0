#include "validation.hpp"

#include <algorithm>
#include <utility>

namespace weir::config {

void Validation::look_at(const NodeFarm& kind, const std::function<void()>& look) {
  kind_ = &kind;
  look();
  kind_ = nullptr;
}

void Validation::for_kinds(Role role, int entries, const std::function<void()>& look) {
  for (int entry = entries == 0 ? kNoEntry : 0; entry < entries; ++entry)
    look_at(node_farms_.of(role, entry), look);
}

void Validation::error(ProblemKind kind, const std::string& key, std::string what) {
  add(Severity::error, kind, key, std::move(what));
}

void Validation::inconsistent(const std::string& key, std::string what) {
  add(Severity::error, ProblemKind::inconsistent, key, std::move(what));
}

void Validation::warn(const std::string& key, std::string what) {
  add(Severity::warning, ProblemKind::inconsistent, key, std::move(what));
}

void Validation::add(const Problems& problems) {
  problems_.insert(problems_.end(), problems.begin(), problems.end());
}

void Validation::add(Severity severity, ProblemKind kind, const std::string& common_key, std::string what) {
  const std::string key = kind_ != nullptr ? key_here(common_key) : common_key;
  // A problem in shared settings is found once for each kind of node, and reported once.
  const bool known = std::any_of(problems_.begin(), problems_.end(),
                                 [&](const Problem& one) { return one.key == key && one.what == what; });
  if (known || problems_.size() >= kProblemsMax) return;
  problems_.push_back({kind, severity, locations_.of(key), key, std::move(what)});
}

// If a key is missing, or too small by default, and neither the entry nor the shared section sets it, the
// problem is reported at the entry.
std::string Validation::key_here(const std::string& common_key) const {
  const std::string key = kind_->key_of(common_key);
  return key == common_key && locations_.exactly(key).empty() ? kind_->key_in_entry(key) : key;
}

}  // namespace weir::config

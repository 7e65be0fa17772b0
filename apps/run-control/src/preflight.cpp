#include "preflight.hpp"

#include "disks.hpp"
#include <weir/clock/clock.hpp>
#include <weir/run_record/version.hpp>
#include <weir/security/keys.hpp>

#include <algorithm>
#include <sys/stat.h>

namespace weir::run_control {
namespace {

control::PreflightFacts::Key key_of(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {path, {}, false};
  const UtcNs made = file.st_mtim.tv_sec * kSecond + file.st_mtim.tv_nsec;
  return {path, std::max<DurationNs>(0, utc_now_ns() - made), (file.st_mode & (S_IRGRP | S_IROTH)) != 0};
}

}  // namespace

control::PreflightFacts preflight_facts(const Parts& parts,
                                        const Expected<v1::RunIdentity, std::string>& identity) {
  control::PreflightFacts facts;
  facts.own_software = std::string("weir ") + run_record::kVersion;
  for (std::size_t i = 0; i < parts.members.size(); ++i) {
    const control::Member& member = parts.machine.members()[i];
    const Process& process = parts.members[i];
    facts.processes.push_back({member.plan.name, process.host, process.software, member.live, member.removed,
                               process.clock.ahead()});
  }
  facts.missing_disks = missing_disks(parts);
  const control::State state = parts.machine.state();
  facts.is_configured =
      state == control::State::ready || state == control::State::running || state == control::State::paused;
  if (!identity) facts.conflict = identity.error();
  if (identity) facts.parts = static_cast<std::size_t>(identity->parts_size());
  if (!parts.own.keys.empty())
    facts.keys.push_back(key_of(parts.own.keys + "/" + security::curve_file(security::BusRole::control)));
  const std::string& farm_key = parts.setup.file().security().key_file();
  if (!farm_key.empty()) facts.keys.push_back(key_of(farm_key));
  return facts;
}

void add_checks(const control::PreflightFacts& facts, v1::Reply& reply) {
  for (const control::PreflightCheck& one : control::preflight(facts)) {
    v1::PreflightCheck& check = *reply.add_checks();
    check.set_gravity(std::string(control::name(one.gravity)));
    check.set_name(one.name);
    check.set_text(one.text);
  }
}

}  // namespace weir::run_control

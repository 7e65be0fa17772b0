#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/ceiling.hpp>
#include <weir/bench/loopback.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::bench {
namespace {

Rate rate_of(const CeilingResult& result) {
  return {result.fragments_per_s, result.goodput_bytes_per_s, result.cpu_us_per_fragment,
          result.system_calls_per_fragment};
}

Expected<Rate, std::string> measure_ceiling_of(const LoopbackPoint& point, double seconds) {
  CeilingSettings settings;
  settings.readouts = point.readouts;
  settings.collectors = point.dcms;
  settings.fragment_bytes = point.fragment_bytes;
  settings.seconds = seconds;
  const auto result = measure_ceiling(settings);
  if (!result) return Unexpected<std::string>("the ceiling: " + result.error());
  return rate_of(*result);
}

Expected<Round, std::string> measure_round(const LoopbackPoint& point, const LoopbackOptions& options,
                                           const std::string& folder, std::uint32_t number) {
  enum class Competitor : std::uint8_t { farm, ceiling, tls, yardstick };
  Round round;
  std::vector<Competitor> competitors{Competitor::farm, Competitor::ceiling};
  if (options.tls) competitors.push_back(Competitor::tls);
  if (!options.yardstick.empty()) competitors.push_back(Competitor::yardstick);
  // The order changes with each round: the first one suffers from the after-effects of the previous round.
  for (std::size_t turn = 0; turn < competitors.size(); ++turn) {
    switch (competitors[(number + turn) % competitors.size()]) {
      case Competitor::farm: {
        const auto farm = measure_farm(point, options.seconds, folder);
        if (!farm) return Unexpected<std::string>("the farm: " + farm.error());
        round.farm = *farm;
        break;
      }
      case Competitor::ceiling: {
        const auto ceiling = measure_ceiling_of(point, options.seconds);
        if (!ceiling) return Unexpected<std::string>(ceiling.error());
        round.ceiling = *ceiling;
        break;
      }
      case Competitor::tls: {
        const auto farm = measure_farm(point, options.seconds, folder, true);
        if (!farm) return Unexpected<std::string>("the farm over TLS: " + farm.error());
        round.tls = *farm;
        break;
      }
      case Competitor::yardstick: {
        const auto yardstick = measure_yardstick(options.yardstick, point, options.seconds);
        if (!yardstick) return Unexpected<std::string>(options.yardstick + ": " + yardstick.error());
        round.yardstick = *yardstick;
      }
    }
  }
  return round;
}

template <class Value>
double median_of(const std::vector<Round>& rounds, Value value) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const Round& round : rounds) values.push_back(value(round));
  return median(std::move(values));
}

double ratio(const Rate& over, const Rate& under) { return over.fragments_per_s / under.fragments_per_s; }

// More digits than such a machine repeats.
template <class Which>
boost::json::object medians(const std::vector<Round>& rounds, Which which) {
  const auto of = [&](double Rate::*member) {
    return four_digits(median_of(rounds, [&](const Round& round) { return which(round).*member; }));
  };
  return {{"fragments_per_s", of(&Rate::fragments_per_s)},
          {"goodput_bytes_per_s", of(&Rate::goodput_bytes_per_s)},
          {"cpu_us_per_fragment", of(&Rate::cpu_us_per_fragment)},
          {"system_calls_per_fragment", of(&Rate::system_calls_per_fragment)}};
}

std::string describe(const LoopbackPoint& point) {
  return fmt::format("{} B, {} DCM{}, CRC {}", point.fragment_bytes, point.dcms, point.dcms == 1 ? "" : "s",
                     point.checksums ? "on" : "off");
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string to_json_line(const LoopbackPoint& point, const std::vector<Round>& rounds) {
  boost::json::object line{{"bench", "loopback"},        {"fragment_bytes", point.fragment_bytes},
                           {"readouts", point.readouts}, {"sources_per_readout", point.sources},
                           {"dcms", point.dcms},         {"checksums", point.checksums},
                           {"rounds", rounds.size()}};
  line["weir"] = medians(rounds, [](const Round& round) { return round.farm; });
  line["ceiling"] = medians(rounds, [](const Round& round) { return round.ceiling; });
  line["ratio"] =
      four_digits(median_of(rounds, [](const Round& round) { return ratio(round.farm, round.ceiling); }));
  if (!rounds.empty() && rounds.front().tls) {
    line["tls"] = medians(rounds, [](const Round& round) { return *round.tls; });
    line["tls_to_plain"] =
        four_digits(median_of(rounds, [](const Round& round) { return ratio(*round.tls, round.farm); }));
  }
  if (!rounds.empty() && rounds.front().yardstick) {
    line["yardstick_fragments_per_s"] =
        four_digits(median_of(rounds, [](const Round& round) { return round.yardstick->fragments_per_s; }));
    line["ceiling_to_yardstick"] = four_digits(
        median_of(rounds, [](const Round& round) { return ratio(round.ceiling, *round.yardstick); }));
  }
  return run_record::one_line(line);
}

Expected<Rate, std::string> measure_yardstick(const std::string& program, const LoopbackPoint& point,
                                              double seconds) {
  const std::string command = fmt::format("'{}' --readouts {} --collectors {} --size {} --seconds {}",
                                          program, point.readouts, point.dcms, point.fragment_bytes, seconds);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return Unexpected<std::string>("cannot be started");
  std::string text;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  const int status = ::pclose(pipe);
  boost::json::error_code error;
  const boost::json::value line = boost::json::parse(text, error);
  const boost::json::object* object = line.if_object();
  const boost::json::value* rate = object == nullptr ? nullptr : object->if_contains("fragments_per_s");
  if (status != 0 || rate == nullptr || !rate->is_number()) {
    return Unexpected<std::string>("ended with status " + std::to_string(status) + " and said: " + text);
  }
  Rate result;
  result.fragments_per_s = rate->to_number<double>();
  result.goodput_bytes_per_s = result.fragments_per_s * point.fragment_bytes;
  return result;
}

int run_loopback(const LoopbackOptions& options, std::FILE* out, std::FILE* err) {
  const ScratchFolder folder;
  for (const std::uint32_t bytes : options.fragment_bytes) {
    for (const std::uint32_t dcms : options.dcms) {
      for (const std::string& checksums : options.checksums) {
        const LoopbackPoint point{options.readouts, options.sources, dcms, bytes, checksums == "on"};
        std::vector<Round> rounds;
        for (std::uint32_t i = 0; i < options.rounds; ++i) {
          const auto round = measure_round(point, options, folder.path().string(), i);
          if (!round) {
            fmt::print(err, "weir bench: {}: {}\n", describe(point), round.error());
            return 1;
          }
          rounds.push_back(*round);
        }
        fmt::print(out, "{}\n", to_json_line(point, rounds));
        std::fflush(out);
        fmt::print(err, "{}: {:.3g} fragments/s, {:.2f} of the ceiling\n", describe(point),
                   median_of(rounds, [](const Round& round) { return round.farm.fragments_per_s; }),
                   median_of(rounds, [](const Round& round) { return ratio(round.farm, round.ceiling); }));
      }
    }
  }
  return 0;
}

}  // namespace weir::bench

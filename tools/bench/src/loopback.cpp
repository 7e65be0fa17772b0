#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/ceiling.hpp>
#include <weir/bench/loopback.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

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

double ratio(const Rate& over, const Rate& under) { return over.fragments_per_s / under.fragments_per_s; }

// More digits than such a machine repeats.
Line line_of(const Rate& rate) {
  return {{"fragments_per_s", four_digits(rate.fragments_per_s)},
          {"goodput_bytes_per_s", four_digits(rate.goodput_bytes_per_s)},
          {"cpu_us_per_fragment", four_digits(rate.cpu_us_per_fragment)},
          {"system_calls_per_fragment", four_digits(rate.system_calls_per_fragment)}};
}

std::string describe(const LoopbackPoint& point) {
  return fmt::format("{} B, {} DCM{}, CRC {}", point.fragment_bytes, point.dcms, point.dcms == 1 ? "" : "s",
                     point.checksums ? "on" : "off");
}

}  // namespace

Line line_of(const LoopbackPoint& point, const Round& round) {
  Line line{{"bench", "loopback"},
            {"fragment_bytes", point.fragment_bytes},
            {"readouts", point.readouts},
            {"sources_per_readout", point.sources},
            {"dcms", point.dcms},
            {"checksums", point.checksums},
            {"rounds", 1},
            {"weir", line_of(round.farm)},
            {"ceiling", line_of(round.ceiling)},
            {"ratio", four_digits(ratio(round.farm, round.ceiling))},
            {"_label", describe(point)}};
  if (round.tls) {
    line["tls"] = line_of(*round.tls);
    line["tls_to_plain"] = four_digits(ratio(*round.tls, round.farm));
  }
  if (round.yardstick) {
    line["yardstick_fragments_per_s"] = four_digits(round.yardstick->fragments_per_s);
    line["ceiling_to_yardstick"] = four_digits(ratio(round.ceiling, *round.yardstick));
  }
  return line;
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
  Figure figure;
  figure.bench = "loopback";
  figure.needs_all = true;
  figure.rounds = options.rounds;
  for (const std::uint32_t bytes : options.fragment_bytes) {
    for (const std::uint32_t dcms : options.dcms) {
      for (const std::string& checksums : options.checksums) {
        const LoopbackPoint point{options.readouts, options.sources, dcms, bytes, checksums == "on"};
        const auto measure = [&options, point, number = 0U]() mutable -> Expected<Lines, std::string> {
          const ScratchFolder folder;
          const auto round = measure_round(point, options, folder.path().string(), number++);
          if (!round) return Unexpected<std::string>(round.error());
          return Lines{line_of(point, *round)};
        };
        figure.groups.push_back({{describe(point), measure}});
      }
    }
  }
  figure.sentence = [](const Line& line) {
    return fmt::format("{}: {:.3g} fragments/s, {:.2f} of the ceiling", text_of(line, "_label"),
                       number_of(line, "weir.fragments_per_s"), number_of(line, "ratio"));
  };
  return run_figure(figure, {}, out, err);
}

}  // namespace weir::bench

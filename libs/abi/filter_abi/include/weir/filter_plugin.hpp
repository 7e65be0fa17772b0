// The border between a C++ filter and the C ABI. Part of weir/filter.hpp.
#pragma once

#include <weir/filter_base.hpp>
#include <weir/plugin_border.hpp>

namespace weir {
inline namespace filter_v1 {
namespace filter_detail {

using plugin_detail::at_border;

inline std::int32_t hand_over(const weir_filter_host* host, const Decision& from, weir_filter_decision* to) {
  to->verdict = from.verdict;
  if (from.verdict == WEIR_FILTER_ACCEPT) {
    to->keep = from.keep;
    if (from.streams != 0) to->streams = from.streams;
    to->prescale = from.prescale;
    to->prescale_counter = from.prescale_counter;
    if (from.keep != WEIR_KEEP_LISTED) return 0;
    return host->keep_sources(host, from.sources.data(), static_cast<std::uint32_t>(from.sources.size()));
  }
  if (from.verdict != WEIR_FILTER_NEED_MORE) return 0;
  to->need_all = from.need_all ? 1 : 0;
  if (from.sources.empty()) return 0;
  return host->need_sources(host, from.sources.data(), static_cast<std::uint32_t>(from.sources.size()));
}

template <class F>
struct FilterBoundary {
  struct Instance {
    const weir_filter_host* host;
    F filter;
    Instance(FilterSetup& setup) : host(setup.host()), filter(setup) { setup.refuse_unknown(); }
  };
  static Instance* self(void* instance) { return static_cast<Instance*>(instance); }

  static void* create(const weir_filter_parameters* parameters, const weir_filter_host* host, char* error,
                      std::uint32_t size) noexcept {
    return at_border(error, size, static_cast<void*>(nullptr), [&]() -> void* {
      FilterSetup setup(parameters, host);
      return std::make_unique<Instance>(setup).release();
    });
  }
  static std::int32_t begin_run(void* instance, const weir_filter_run* run, char* error,
                                std::uint32_t size) noexcept {
    return at_border(error, size, std::int32_t{1}, [&] {
      self(instance)->filter.begin_run(*run);
      return std::int32_t{0};
    });
  }
  static std::int32_t process(void* instance, const weir_filter_slice* slice, weir_filter_decision* decision,
                              char* error, std::uint32_t size) noexcept {
    return at_border(error, size, std::int32_t{1}, [&] {
      const Decision made = self(instance)->filter.process(Slice(slice));
      return hand_over(self(instance)->host, made, decision);
    });
  }
  static void end_run(void* instance) noexcept {
    char error[256] = "";
    const weir_filter_host* host = self(instance)->host;
    if (!at_border(error, sizeof error, false, [&] {
          self(instance)->filter.end_run();
          return true;
        })) {
      host->log(host, WEIR_LOG_ERROR, error);
    }
  }
  static void destroy(void* instance) noexcept { delete self(instance); }
  static std::uint32_t first_sources(void* instance, std::uint32_t* sources,
                                     std::uint32_t capacity) noexcept {
    return at_border(nullptr, 0, std::uint32_t{WEIR_ALL_SOURCES}, [&] {
      const std::optional<std::vector<std::uint32_t>> wish = self(instance)->filter.first_sources();
      if (!wish) return std::uint32_t{WEIR_ALL_SOURCES};
      for (std::size_t i = 0; i < wish->size() && i < capacity; ++i) sources[i] = (*wish)[i];
      return static_cast<std::uint32_t>(wish->size());
    });
  }

  static constexpr weir_filter_plugin plugin(const char* name, const char* version, const char* description) {
    return {.struct_size = sizeof(weir_filter_plugin),
            .abi_version = WEIR_FILTER_ABI_VERSION,
            .name = name,
            .version = version,
            .description = description,
            .create = &create,
            .begin_run = &begin_run,
            .process = &process,
            .end_run = &end_run,
            .destroy = &destroy,
            .first_sources = &first_sources};
  }
};

}  // namespace filter_detail
}  // namespace filter_v1
}  // namespace weir

// Makes a shared library a plugin; once per library, at namespace scope. Class is a weir::Filter with a
// constructor from (weir::FilterSetup&).
#define WEIR_FILTER_PLUGIN(Class, name, version, description)                             \
  extern "C" WEIR_FILTER_EXPORT const weir_filter_plugin* weir_filter_plugin_v1(void) {   \
    static constexpr weir_filter_plugin plugin =                                          \
        ::weir::filter_detail::FilterBoundary<Class>::plugin(name, version, description); \
    return &plugin;                                                                       \
  }

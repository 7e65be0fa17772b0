// Does to its host what the bytes of the trigger's payload say: each call is a letter and its arguments.
#include <weir/weir_filter.h>

#include <cstring>

namespace {

struct Strings {
  const unsigned char* at;
  const unsigned char* end;

  bool has(uint32_t bytes) const { return static_cast<uint32_t>(end - at) >= bytes; }
  uint64_t number(uint32_t bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes && at != end; ++i) value |= static_cast<uint64_t>(*at++) << (8 * i);
    return value;
  }
};

const weir_filter_host* host_of(void* instance) { return static_cast<const weir_filter_host*>(instance); }

void* create(const weir_filter_parameters*, const weir_filter_host* host, char*, uint32_t) {
  return const_cast<weir_filter_host*>(host);
}
void destroy(void*) {}

// A name of letters from the payload, ended as the ABI wants.
const char* name(Strings& strings, char (&buffer)[64]) {
  const auto length = static_cast<uint32_t>(strings.number(1) % 63);
  const uint32_t there = strings.has(length) ? length : 0;
  if (there > 0) memcpy(buffer, strings.at, there);
  strings.at += there;
  buffer[there] = 0;
  return buffer;
}

void call(const weir_filter_host* host, weir_filter_decision* decision, Strings& strings) {
  static uint32_t sources[4096];
  char text[64];
  const auto what = strings.number(1);
  switch (what % 16) {
    case 0:
      decision->verdict = static_cast<uint8_t>(strings.number(1));
      return;
    case 1:
      decision->keep = static_cast<uint8_t>(strings.number(1));
      decision->need_all = static_cast<uint8_t>(strings.number(1));
      return;
    case 2:
      decision->streams = strings.number(8);
      return;
    case 3:
      decision->prescale = static_cast<uint32_t>(strings.number(4));
      decision->prescale_counter = strings.number(8);
      return;
    case 4: {
      const uint64_t size = strings.number(2);
      const bool there = strings.has(static_cast<uint32_t>(size));
      host->add_event(host, what, there ? strings.at : nullptr, size);
      return;
    }
    case 5: {
      const uint64_t size = strings.number(2);
      const bool there = strings.has(static_cast<uint32_t>(size));
      host->set_result(host, there ? strings.at : nullptr, size);
      return;
    }
    case 6:
    case 7: {
      const auto count = static_cast<uint32_t>(strings.number(2) % 4096);
      for (uint32_t i = 0; i < count; ++i) sources[i] = static_cast<uint32_t>(strings.number(4));
      (what % 16 == 6 ? host->keep_sources : host->need_sources)(host, what >= 128 ? nullptr : sources,
                                                                 count);
      return;
    }
    case 8:
      host->log(host, static_cast<int32_t>(strings.number(4)), what >= 128 ? nullptr : name(strings, text));
      return;
    case 9:
      decision->streams |= host->stream(host, what >= 128 ? nullptr : name(strings, text));
      return;
    case 10:
      host->count(host, host->counter(host, what >= 128 ? nullptr : name(strings, text)), strings.number(8));
      return;
    case 11:
      host->count(host, static_cast<uint32_t>(strings.number(4)), strings.number(8));
      return;
    case 12: {
      double value = 0;
      const uint64_t bits = strings.number(8);
      memcpy(&value, &bits, sizeof value);
      host->record(host, host->histogram(host, what >= 128 ? nullptr : name(strings, text)), value);
      host->record(host, static_cast<uint32_t>(strings.number(4)), value);
      return;
    }
    case 13:
      decision->struct_size = static_cast<uint32_t>(strings.number(4));
      return;
    case 14:
      // An impossible size, without bytes.
      host->add_event(host, 1, nullptr, strings.number(8));
      host->set_result(host, nullptr, strings.number(8));
      host->need_sources(host, nullptr, static_cast<uint32_t>(strings.number(4)));
      return;
    default:
      (void)host->random(host);
      return;
  }
}

int32_t process(void* instance, const weir_filter_slice* slice, weir_filter_decision* decision, char* error,
                uint32_t error_size) {
  const auto* bytes = static_cast<const unsigned char*>(slice->trigger_payload);
  if (slice->trigger_payload_size == 0) return 0;
  Strings strings{bytes + 1, bytes + slice->trigger_payload_size};
  while (strings.at != strings.end) call(host_of(instance), decision, strings);
  // A text without an end, as large as the room for it.
  if (bytes[0] % 4 == 1) memset(error, 'x', error_size);
  return bytes[0] % 4 == 0 ? 0 : static_cast<int32_t>(bytes[0] % 4) - 2;
}

uint32_t first_sources(void*, uint32_t* sources, uint32_t capacity) {
  for (uint32_t i = 0; i < capacity; ++i) sources[i] = i;
  return capacity + 7;
}

const weir_filter_plugin plugin = {.struct_size = sizeof(weir_filter_plugin),
                                   .abi_version = WEIR_FILTER_ABI_VERSION,
                                   .name = "puppet",
                                   .version = "1.0",
                                   .description = "does what the payload says",
                                   .create = &create,
                                   .begin_run = nullptr,
                                   .process = &process,
                                   .end_run = nullptr,
                                   .destroy = &destroy,
                                   .first_sources = &first_sources};

}  // namespace

const weir_filter_plugin* weir_filter_plugin_v1() { return &plugin; }

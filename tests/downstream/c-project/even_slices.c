/* Keeps one output event, and no raw data, of every slice with an even id. */
#include <weir/weir_filter.h>

#include <stdlib.h>

#ifndef ABI
#define ABI WEIR_FILTER_ABI_VERSION
#endif

struct filter {
  const weir_filter_host* host;
};

static void* create(const weir_filter_parameters* parameters, const weir_filter_host* host, char* error,
                    uint32_t error_size) {
  struct filter* filter = malloc(sizeof *filter);
  (void)parameters, (void)error, (void)error_size;
  if (filter != NULL) filter->host = host;
  return filter;
}

static int32_t process(void* instance, const weir_filter_slice* slice, weir_filter_decision* decision,
                       char* error, uint32_t error_size) {
  const struct filter* filter = instance;
  const char text[] = "even";
  (void)error, (void)error_size;
  decision->verdict = slice->slice % 2 == 0 ? WEIR_FILTER_ACCEPT : WEIR_FILTER_REJECT;
  decision->keep = WEIR_KEEP_NONE;
  if (decision->verdict == WEIR_FILTER_REJECT) return 0;
  return filter->host->add_event(filter->host, slice->slice, text, sizeof text);
}

static const weir_filter_plugin plugin = {
    .struct_size = sizeof(weir_filter_plugin),
    .abi_version = ABI,
    .name = "even-slices",
    .version = "1.0",
    .description = "accepts slices with an even id",
    .create = create,
    .process = process,
    .destroy = free,
};

const weir_filter_plugin* weir_filter_plugin_v1(void) { return &plugin; }

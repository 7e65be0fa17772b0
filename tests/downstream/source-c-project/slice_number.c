/* Every fragment is the number of its slice, in eight bytes. */
#include <weir/weir_source.h>

#include <stdlib.h>

#ifndef ABI
#define ABI WEIR_SOURCE_ABI_VERSION
#endif

static void* create(const weir_source_parameters* parameters, const weir_source_readout* readout,
                    const weir_source_host* host, char* error, uint32_t error_size) {
  (void)parameters, (void)readout, (void)host, (void)error, (void)error_size;
  return malloc(1);
}

static int32_t make(void* instance, uint32_t source, const weir_source_trigger* trigger,
                    weir_source_fragment* fragment, char* error, uint32_t error_size) {
  uint64_t* number = malloc(sizeof *number);
  (void)instance, (void)source, (void)error, (void)error_size;
  if (number == NULL) return 1;
  *number = trigger->slice;
  fragment->data = number;
  fragment->length = sizeof *number;
  fragment->release = free;
  fragment->owner = number;
  return 0;
}

static const weir_source_plugin plugin = {
    .struct_size = sizeof(weir_source_plugin),
    .abi_version = ABI,
    .name = "slice-number",
    .version = "1.0",
    .description = "the number of the slice",
    .create = create,
    .destroy = free,
    .make = make,
};

const weir_source_plugin* weir_source_plugin_v1(void) { return &plugin; }

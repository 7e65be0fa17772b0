/* One plugin for each way to be wrong; the build defines which. */
#include <weir/weir_filter.h>

#ifdef NASTY
/* What gets into logs, pages and terminals of others, if it is let. */
#define NASTY_TEXT "one\nlevel=error \x1b[2J \xff"
static char long_text[1000 * 1000];
#endif

static void* create(const weir_filter_parameters* parameters, const weir_filter_host* host, char* error,
                    uint32_t error_size) {
  (void)parameters, (void)host, (void)error, (void)error_size;
#ifdef NASTY
  for (uint32_t i = 0; i + 1 < sizeof long_text; ++i) long_text[i] = 'x';
  host->log(host, WEIR_LOG_INFO, NASTY_TEXT);
  host->log(host, WEIR_LOG_INFO, long_text);
  host->count(host, host->counter(host, NASTY_TEXT), 1);
  host->record(host, host->histogram(host, long_text), 1);
#endif
  return (void*)host;
}
__attribute__((unused)) static int32_t process(void* instance, const weir_filter_slice* slice,
                                               weir_filter_decision* decision, char* error,
                                               uint32_t error_size) {
  (void)instance, (void)slice, (void)error, (void)error_size;
#ifdef NASTY
  for (uint32_t i = 0; i < sizeof NASTY_TEXT && i < error_size; ++i) error[i] = NASTY_TEXT[i];
  return 1;
#endif
  decision->verdict = WEIR_FILTER_ACCEPT;
  return 0;
}
static void destroy(void* instance) { (void)instance; }

/* Without any of these it is the least that ABI 1 requires, and nothing is wrong. */
#ifndef ABI
#define ABI WEIR_FILTER_ABI_VERSION
#endif
#ifndef SIZE
#define SIZE sizeof(weir_filter_plugin)
#endif
#ifdef NASTY
#define NAME NASTY_TEXT
#else
#define NAME "wrong"
#endif
#ifndef PROCESS
#define PROCESS process
#endif

static const weir_filter_plugin plugin = {.struct_size = SIZE,
                                          .abi_version = ABI,
                                          .name = NAME,
                                          .version = "1.0" NAME,
                                          .description = "wrong in one way" NAME,
                                          .create = create,
                                          .process = PROCESS,
                                          .destroy = destroy};

#if defined(OTHER_SYMBOL)
WEIR_FILTER_EXPORT const weir_filter_plugin* weir_filter_plugin_v3(void);
const weir_filter_plugin* weir_filter_plugin_v3(void) { return &plugin; }
#elif defined(NO_SYMBOL)
WEIR_FILTER_EXPORT const weir_filter_plugin* some_other_symbol(void);
const weir_filter_plugin* some_other_symbol(void) { return &plugin; }
#else
const weir_filter_plugin* weir_filter_plugin_v1(void) { return &plugin; }
#endif

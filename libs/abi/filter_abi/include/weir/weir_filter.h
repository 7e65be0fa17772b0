/*
 * Weir filter ABI, version 1.
 *
 * A filter plugin is a shared library with one exported symbol, `weir_filter_plugin_v1`. It decides what
 * happens to each slice: reject it, accept it, forward it, or request more of its fragments first. This
 * header is plain C11 without dependencies; weir/filter.hpp wraps it for C++20.
 *
 * Lifetime of an instance:
 *   create - (begin_run - process* - end_run)* - destroy
 *
 * Threads: every processing unit of a DCM has its own instance. Calls on different instances run in parallel;
 * calls on one instance never overlap, but may come from different threads.
 *
 * Growth: every struct begins with struct_size, the size known to the side that filled it. Version 1 only
 * appends fields; before reading a field that is not in the first release, compare struct_size. Table entries
 * have no size field: the struct that holds the table gives the distance between them.
 *
 * Ownership: the host's arguments belong to the host, and are valid until the call returns unless stated
 * otherwise. Host functions copy the filter's arguments before they return. No exception may pass through
 * these functions.
 */
/* This file is C, even if C++ includes it. NOLINTBEGIN(modernize-*) */
#ifndef WEIR_WEIR_FILTER_H
#define WEIR_WEIR_FILTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_FILTER_ABI_VERSION 1u
#define WEIR_FILTER_ENTRY_POINT "weir_filter_plugin_v1"

#if defined(__GNUC__)
#define WEIR_FILTER_EXPORT __attribute__((visibility("default")))
#else
#define WEIR_FILTER_EXPORT
#endif

/* ---- Slices ---- */

/* Status of one source's fragment. `ok`, `truncated`, `corrupt` and `out_of_step` have bytes. New ones may be
 * added. */
enum {
  WEIR_FRAGMENT_OK = 0,            /* complete, with a valid checksum */
  WEIR_FRAGMENT_MISSING = 1,       /* requested, but not received: see missing_reason */
  WEIR_FRAGMENT_TRUNCATED = 2,     /* shortened by the source; the bytes present are valid */
  WEIR_FRAGMENT_CORRUPT = 3,       /* the checksum does not match; the bytes are as received */
  WEIR_FRAGMENT_SUPPRESSED = 4,    /* withheld by the source on purpose */
  WEIR_FRAGMENT_NOT_REQUESTED = 5, /* not requested yet: a filter can (WEIR_FILTER_NEED_MORE) */
  WEIR_FRAGMENT_OUT_OF_STEP = 6 /* probably of another slice: the front-end's counter or time does not fit */
};

/* Why a fragment is missing. New reasons may be added. */
enum {
  WEIR_MISSING_NONE = 0,
  WEIR_MISSING_DEADLINE = 1,
  WEIR_MISSING_SOURCE_DOWN = 2,
  WEIR_MISSING_RESTARTED = 3,
  WEIR_MISSING_NOT_PRODUCED = 4,
  WEIR_MISSING_DROPPED = 5,
  WEIR_MISSING_MASKED = 6,
  WEIR_MISSING_NO_BUFFER = 7,
  WEIR_MISSING_OVERFLOW = 8,
  WEIR_MISSING_TOO_LARGE = 9,
  WEIR_MISSING_UNKNOWN_SOURCE = 10,
  WEIR_MISSING_GAP = 11,
  WEIR_MISSING_REMOVED = 12, /* its readout was removed from the run on purpose: not a defect of the slice */
  WEIR_MISSING_TOO_OLD = 13
};

/* One entry of a slice's table. */
typedef struct weir_filter_fragment {
  uint32_t source;
  uint8_t status;         /* WEIR_FRAGMENT_... */
  uint8_t missing_reason; /* WEIR_MISSING_..., when status is WEIR_FRAGMENT_MISSING */
  uint16_t reserved;
  const void* data; /* NULL without bytes; aligned to 8 if the host can */
  uint32_t length;  /* bytes at `data` */
  uint32_t total;   /* bytes at the source; more than `length` if only a range was requested */
  uint32_t crc32c;  /* of the whole fragment, from the source; 0 if the farm runs without checksums */
  uint32_t reserved2;
} weir_filter_fragment;

/* The filter's state of one slice between its steps. The host keeps it with the slice, passes it to the
 * instance that runs the next step, and calls destroy(data), from any thread, when the slice has left the
 * filter. */
typedef struct weir_filter_state {
  void* data;
  void (*destroy)(void* data); /* may be NULL */
} weir_filter_state;

enum {
  WEIR_SLICE_INCOMPLETE = 1u /* at least one requested fragment is missing, truncated or corrupt */
};

typedef struct weir_filter_slice {
  uint32_t struct_size;
  uint32_t run;
  uint64_t slice;
  uint32_t attempt; /* counts the assignments of this slice, from 0 */
  uint32_t step;    /* from 0, incremented by each WEIR_FILTER_NEED_MORE */
  int64_t trigger_time_utc_ns;
  int64_t duration_ns; /* of a time slice; 0 for an event */
  uint32_t trigger_type;
  uint32_t trigger_payload_size; /* bytes */
  const void* trigger_payload;   /* NULL without payload */
  uint32_t flags;                /* WEIR_SLICE_... */
  uint32_t fragment_count;       /* sources of this slice, requested or not */
  uint32_t fragment_stride;      /* bytes from one table entry to the next */
  uint32_t reserved;
  const weir_filter_fragment* fragments; /* sorted by source, each source once */
  weir_filter_state* state;              /* never NULL; {NULL, NULL} at step 0 */
  const void* forwarded;   /* bytes that the filter of an earlier group passed to forward(); or NULL */
  uint32_t forwarded_size; /* bytes */
  uint32_t reserved3;
} weir_filter_slice;

/* Returns entry `index` of the table. Requires: index < fragment_count. */
static inline const weir_filter_fragment* weir_filter_fragment_at(const weir_filter_slice* slice,
                                                                  uint32_t index) {
  return (const weir_filter_fragment*)(const void*)((const char*)(const void*)slice->fragments +
                                                    (size_t)index * slice->fragment_stride);
}

/* Returns the fragment of `source`, or NULL if the slice has no such source. Constant time if the sources of
 * the slice are numbered without gaps, log2(fragment_count) otherwise. */
static inline const weir_filter_fragment* weir_filter_find(const weir_filter_slice* slice, uint32_t source) {
  uint32_t low = 0;
  uint32_t high = slice->fragment_count;
  uint32_t guess;
  if (high == 0) return NULL;
  guess = source - slice->fragments->source;
  if (guess < high && weir_filter_fragment_at(slice, guess)->source == source) {
    return weir_filter_fragment_at(slice, guess);
  }
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const weir_filter_fragment* fragment = weir_filter_fragment_at(slice, middle);
    if (fragment->source == source) return fragment;
    if (fragment->source < source) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

/* ---- Decisions ---- */

enum {
  WEIR_FILTER_UNDECIDED = 0, /* initial value; leaving it is an error */
  WEIR_FILTER_REJECT = 1,
  WEIR_FILTER_ACCEPT = 2,
  WEIR_FILTER_NEED_MORE = 3, /* of the sources named with need_sources(), or of all with need_all */
  WEIR_FILTER_FORWARD = 4    /* to the group of DCMs named with forward() */
};

/* Which raw data of an accepted slice to store. */
enum {
  WEIR_KEEP_ALL = 0,    /* every received fragment that a step has named */
  WEIR_KEEP_LISTED = 1, /* the sources named with keep_sources() */
  WEIR_KEEP_NONE = 2    /* output events and filter result only */
};

#define WEIR_STREAM_DEFAULT (UINT64_C(1) << 0)
#define WEIR_STREAM_DEBUG (UINT64_C(1) << 63)

typedef struct weir_filter_decision {
  uint32_t struct_size; /* set by the host, as are the initial values below */
  uint8_t verdict;      /* WEIR_FILTER_UNDECIDED */
  uint8_t keep;         /* WEIR_KEEP_ALL */
  uint8_t need_all;     /* 0; with WEIR_FILTER_NEED_MORE: every source not requested yet */
  uint8_t reserved;
  uint64_t streams;          /* WEIR_STREAM_DEFAULT; bits from weir_filter_host.stream() */
  uint32_t prescale;         /* 1; n if the filter accepts one of n acceptable slices */
  uint32_t reserved2;        /* 0 */
  uint64_t prescale_counter; /* 0; number of this slice among those, counted by the instance from 1 */
} weir_filter_decision;

/* ---- Services of the host ---- */

enum { WEIR_LOG_DEBUG = 0, WEIR_LOG_INFO = 1, WEIR_LOG_WARNING = 2, WEIR_LOG_ERROR = 3 };

/* Result for a counter or histogram that could not be made; using it has no effect. */
#define WEIR_NO_METRIC UINT32_MAX

/* Maximum bytes to forward with a slice. */
#define WEIR_FORWARD_BYTES_MAX 4096u
/* A source group that the farm does not have; a request for it fails the slice (`filter_error`). */
#define WEIR_NO_GROUP UINT32_MAX

/* Bins of equal width over [low, high), low < high. */
typedef struct weir_filter_axis {
  uint32_t bins; /* 1 or more */
  uint32_t reserved;
  double low;
  double high;
} weir_filter_axis;

enum {
  WEIR_HISTOGRAM_1D = 1,
  WEIR_HISTOGRAM_2D = 2,
  WEIR_HISTOGRAM_PROFILE = 3 /* mean and deviation of y in bins of x */
};

typedef struct weir_filter_booking {
  uint32_t struct_size;
  uint32_t kind;    /* WEIR_HISTOGRAM_... */
  const char* name; /* printable ASCII without quotes, up to 60 bytes */
  weir_filter_axis x;
  weir_filter_axis y; /* of WEIR_HISTOGRAM_2D; otherwise ignored */
} weir_filter_booking;

/* Services, valid from create to the end of destroy, for this instance only and never during a call of
 * another instance. The first argument is always the struct itself. Functions marked (process) are valid only
 * inside process. Those that return int32_t return 0, or another value if a limit of the host is reached: the
 * slice then counts as `filter_error` regardless of the decision. */
typedef struct weir_filter_host weir_filter_host;
struct weir_filter_host {
  uint32_t struct_size;
  uint32_t abi_version; /* WEIR_FILTER_ABI_VERSION of the host */
  void* context;        /* the host's */

  /* Writes one line of text, without a line feed. Beyond a number of lines per run, lines are only counted.
   */
  void (*log)(const weir_filter_host* host, int32_t level, const char* text);

  /* Returns the bit of the stream of this name, 0 if the farm has none. "debug" always exists. */
  uint64_t (*stream)(const weir_filter_host* host, const char* name);

  /* Metrics are named once and then used by number. The values of all instances of a farm are added. */
  uint32_t (*counter)(const weir_filter_host* host, const char* name);
  void (*count)(const weir_filter_host* host, uint32_t counter, uint64_t amount);
  uint32_t (*histogram)(const weir_filter_host* host, const char* name);
  void (*record)(const weir_filter_host* host, uint32_t histogram, double value);

  /* (process) Returns the next number of a sequence that depends on run, slice and step alone: the same for
   * every instance, attempt and replay. */
  uint64_t (*random)(const weir_filter_host* host);

  /* (process) For an accept: appends an output event with an id chosen by the filter. */
  int32_t (*add_event)(const weir_filter_host* host, uint64_t id, const void* bytes, uint64_t size);
  /* (process) For an accept: sets the slice's filter result to be stored; the last call counts. */
  int32_t (*set_result)(const weir_filter_host* host, const void* bytes, uint64_t size);
  /* (process) For an accept with WEIR_KEEP_LISTED: adds to the list. Sources without bytes are
   * ignored. */
  int32_t (*keep_sources)(const weir_filter_host* host, const uint32_t* sources, uint32_t count);
  /* (process) For WEIR_FILTER_NEED_MORE: adds to the list. At least one must not have been requested before.
   */
  int32_t (*need_sources)(const weir_filter_host* host, const uint32_t* sources, uint32_t count);

  /* (process) For WEIR_FILTER_FORWARD: sets the group of DCMs, by its name in the farm file, that continues
   * with the slice, and up to WEIR_FORWARD_BYTES_MAX bytes for its filter; the last call counts. Not 0: this
   * group may not forward there, and the slice counts as `filter_error`. (create) Checks the name only. */
  int32_t (*forward)(const weir_filter_host* host, const char* group, const void* bytes, uint64_t size);
  /* Returns the number of the farm's source group of this name, or WEIR_NO_GROUP. Call it in create, once. */
  uint32_t (*group)(const weir_filter_host* host, const char* name);
  /* Fills in at most `capacity` of the group's sources, ascending, and returns how many it has. */
  uint32_t (*group_sources)(const weir_filter_host* host, uint32_t group, uint32_t* sources,
                            uint32_t capacity);
  /* (process) As need_sources(), with all sources of the group. */
  int32_t (*need_group)(const weir_filter_host* host, uint32_t group);
  /* (process) For WEIR_FILTER_NEED_MORE, a hint: sources that the step after the next one will probably need.
   * The host may request them while the next step runs. No step sees them before a request names them, so a
   * hint changes times and traffic, never decisions. */
  int32_t (*prefetch_sources)(const weir_filter_host* host, const uint32_t* sources, uint32_t count);
  /* (process) As prefetch_sources(), with all sources of the group. */
  int32_t (*prefetch_group)(const weir_filter_host* host, uint32_t group);

  /* Books a histogram of the run and returns its number. In create only. All instances of a farm's filter add
   * up under one name. A repeated booking returns the same number. After a booking beyond the limits (64
   * histograms, 65,536 cells in all), or with another binning than an earlier one of this name, create fails
   * regardless of its result: the run is refused with a sentence. */
  uint32_t (*book_histogram)(const weir_filter_host* host, const weir_filter_booking* booking);
  /* (process) Adds one entry. It counts when the slice's attempt is settled: stored, rejected, or forwarded.
   * Entries of an abandoned slice, or of one with a filter error, do not count. A value that is not a number,
   * or a weight that is not finite, counts as unusable. `y` is ignored by WEIR_HISTOGRAM_1D. */
  void (*fill)(const weir_filter_host* host, uint32_t histogram, double x, double y, double weight);

  /* (process) Gives a burst alert: the farm saves the raw data of the slices from `before_ms` before this
   * slice's trigger time to `after_ms` after it, rejected ones too. Both 0: the window of the farm file
   * (burst.before_s, burst.after_s). `reason` is up to 100 bytes of printable text for the run's account. One
   * alert per step; the last call counts. Independent of the decision; a filter error gives none. The farm
   * takes one alert of filters per burst.filter_alert_s (10 s) of trigger time and counts the others as
   * refused; without a burst saver it takes none. */
  void (*alert)(const weir_filter_host* host, int64_t before_ms, int64_t after_ms, const char* reason);
};

/* ---- Plugins ---- */

/* One `name: value` from the farm file, as text. */
typedef struct weir_filter_parameter {
  const char* name;
  const char* value;
} weir_filter_parameter;

typedef struct weir_filter_parameters {
  uint32_t struct_size;
  uint32_t count;
  uint32_t stride; /* bytes from one table entry to the next */
  uint32_t reserved;
  const weir_filter_parameter* table; /* each name once */
} weir_filter_parameters;

typedef struct weir_filter_run {
  uint32_t struct_size;
  uint32_t run;
  int64_t start_time_utc_ns;
  uint32_t source_count;
  uint32_t reserved;
  const uint32_t* sources; /* of the run, without masked ones, sorted; valid until end_run has returned */
} weir_filter_run;

#define WEIR_ALL_SOURCES UINT32_MAX

/* `error` is a buffer of error_size >= 256 bytes for a zero-terminated message; the host reads it if the
 * function fails. Functions marked (optional) may be NULL. */
typedef struct weir_filter_plugin {
  uint32_t struct_size;
  uint32_t abi_version;    /* WEIR_FILTER_ABI_VERSION */
  const char* name;        /* as in the farm file and in the name of the library, `name`.so */
  const char* version;     /* of the plugin; part of the run's record */
  const char* description; /* one line */

  /* Returns a new instance, or NULL with an error. An unknown or unusable parameter is an error. `parameters`
   * is valid during the call, `host` until destroy has returned. */
  void* (*create)(const weir_filter_parameters* parameters, const weir_filter_host* host, char* error,
                  uint32_t error_size);
  /* (optional) Returns 0, or another value with an error: the run then does not start. */
  int32_t (*begin_run)(void* instance, const weir_filter_run* run, char* error, uint32_t error_size);
  /* Decides one step of one slice. Returns 0, or another value with an error: the slice then counts as
   * `filter_error` and is handled as the farm file sets. Must not block. */
  int32_t (*process)(void* instance, const weir_filter_slice* slice, weir_filter_decision* decision,
                     char* error, uint32_t error_size);
  /* (optional) */
  void (*end_run)(void* instance);
  void (*destroy)(void* instance);

  /* (optional) Lists the sources of step 0; called after begin_run. Fills in at most `capacity` of them and
   * returns their number (the host calls again with more room), or WEIR_ALL_SOURCES for no preference. First
   * sources and groups of the farm file have priority; step 0 may then get other fragments than it listed. */
  uint32_t (*first_sources)(void* instance, uint32_t* sources, uint32_t capacity);
} weir_filter_plugin;

/* The exported symbol. The struct must stay valid while the library is loaded. */
typedef const weir_filter_plugin* (*weir_filter_entry_point)(void);
WEIR_FILTER_EXPORT const weir_filter_plugin* weir_filter_plugin_v1(void);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-*) */

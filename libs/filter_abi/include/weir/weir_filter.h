/*
 * Weir filter ABI, version 1.
 *
 * A filter plugin is a shared library with one exported symbol, `weir_filter_plugin_v1`. It decides what
 * happens to each slice: reject it, accept it, forward it, or ask for more of its fragments first. This header is plain
 * C11 and needs nothing else; weir/filter.hpp wraps it for C++20.
 *
 * Life of an instance:
 *   create - (begin_run - process* - end_run)* - destroy
 *
 * Threads: every processing unit of a collector has an instance of its own. Calls on different instances run
 * in parallel; calls on one instance never overlap, but may come from different threads.
 *
 * Growth: every struct begins with its size as the side that filled it knew it. Version 1 only ever appends
 * fields; whoever reads a field that is not in the first release compares struct_size first. An entry of a
 * table carries no size: the struct that holds the table says how far apart its entries are.
 *
 * Ownership: what the host hands in is the host's, and valid until the call returns unless said otherwise.
 * What a filter hands to a host function is copied before that function returns. Nothing may be thrown
 * through these functions.
 */
/* This file is C, whoever includes it. NOLINTBEGIN(modernize-*) */
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

/* ---- What a slice looks like ---- */

/* What became of one source's part of the slice. `ok`, `truncated` and `corrupt` have bytes. */
enum {
  WEIR_FRAGMENT_OK = 0,           /* whole, checksum good */
  WEIR_FRAGMENT_MISSING = 1,      /* asked for and not had: see missing_reason */
  WEIR_FRAGMENT_TRUNCATED = 2,    /* the source cut it; what is there is good */
  WEIR_FRAGMENT_CORRUPT = 3,      /* the checksum did not match; the bytes are as they came */
  WEIR_FRAGMENT_SUPPRESSED = 4,   /* the source held it back on purpose */
  WEIR_FRAGMENT_NOT_REQUESTED = 5 /* nobody asked for it yet: a filter can (WEIR_FILTER_NEED_MORE) */
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
  WEIR_MISSING_REMOVED = 12 /* its readout was taken out of the run on purpose: no flaw of the slice */
};

/* One entry of a slice's table. */
typedef struct weir_filter_fragment {
  uint32_t source;
  uint8_t status;         /* WEIR_FRAGMENT_... */
  uint8_t missing_reason; /* WEIR_MISSING_..., when status is WEIR_FRAGMENT_MISSING */
  uint16_t reserved;
  const void* data; /* NULL when there are no bytes; aligned to 8 at least when the host can */
  uint32_t length;  /* bytes at `data` */
  uint32_t total;   /* bytes that the source holds; more than `length` when only a range was asked for */
  uint32_t crc32c;  /* of the whole fragment, from the source; 0 when the farm runs without checksums */
  uint32_t reserved2;
} weir_filter_fragment;

/* What a filter remembers of one slice between its steps. The host keeps it with the slice, hands it to
 * whichever instance runs the next step, and calls destroy(data), from any thread, when the slice has left
 * the filter. */
typedef struct weir_filter_state {
  void* data;
  void (*destroy)(void* data); /* may be NULL */
} weir_filter_state;

enum {
  WEIR_SLICE_INCOMPLETE = 1u /* at least one fragment that was asked for is missing, truncated or corrupt */
};

typedef struct weir_filter_slice {
  uint32_t struct_size;
  uint32_t run;
  uint64_t slice;
  uint32_t attempt; /* counts the assignments of this slice, from 0 */
  uint32_t step;    /* 0 at first, one more after each WEIR_FILTER_NEED_MORE */
  int64_t trigger_time_utc_ns;
  int64_t duration_ns; /* of a time slice; 0 for an event */
  uint32_t trigger_type;
  uint32_t trigger_payload_size; /* bytes */
  const void* trigger_payload;   /* NULL when there is none */
  uint32_t flags;                /* WEIR_SLICE_... */
  uint32_t fragment_count;       /* sources of this slice, asked for or not */
  uint32_t fragment_stride;      /* bytes from one table entry to the next */
  uint32_t reserved;
  const weir_filter_fragment* fragments; /* sorted by source, each source once */
  weir_filter_state* state;              /* never NULL; {NULL, NULL} at step 0 */
  const void* forwarded;                 /* what the filter of an earlier group passed to forward(); or NULL */
  uint32_t forwarded_size;               /* bytes */
  uint32_t reserved3;
} weir_filter_slice;

/* Entry `index` of the table, index < fragment_count. */
static inline const weir_filter_fragment* weir_filter_fragment_at(const weir_filter_slice* slice,
                                                                  uint32_t index) {
  return (const weir_filter_fragment*)(const void*)((const char*)(const void*)slice->fragments +
                                                    (size_t)index * slice->fragment_stride);
}

/* The fragment of `source`, or NULL when the slice has no such source. Constant time when the sources of the
 * slice are numbered without gaps, log2(fragment_count) otherwise. */
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

/* ---- What a filter decides ---- */

enum {
  WEIR_FILTER_UNDECIDED = 0, /* what the host sets before the call; leaving it is an error */
  WEIR_FILTER_REJECT = 1,
  WEIR_FILTER_ACCEPT = 2,
  WEIR_FILTER_NEED_MORE = 3, /* of the sources named with need_sources(), or of all with need_all */
  WEIR_FILTER_FORWARD = 4    /* to the group of DCMs named with forward() */
};

/* Which raw data of an accepted slice to store. */
enum {
  WEIR_KEEP_ALL = 0,    /* every fragment that is there */
  WEIR_KEEP_LISTED = 1, /* the sources named with keep_sources() */
  WEIR_KEEP_NONE = 2    /* output events and filter result only */
};

#define WEIR_STREAM_DEFAULT (UINT64_C(1) << 0)
#define WEIR_STREAM_DEBUG (UINT64_C(1) << 63)

typedef struct weir_filter_decision {
  uint32_t struct_size; /* set by the host, as are the initial values below */
  uint8_t verdict;      /* WEIR_FILTER_UNDECIDED */
  uint8_t keep;         /* WEIR_KEEP_ALL */
  uint8_t need_all;     /* 0; with WEIR_FILTER_NEED_MORE: every source that was not asked for yet */
  uint8_t reserved;
  uint64_t streams;          /* WEIR_STREAM_DEFAULT; bits from weir_filter_host.stream() */
  uint32_t prescale;         /* 1; n when one of n slices that could be accepted so is */
  uint32_t reserved2;        /* 0 */
  uint64_t prescale_counter; /* 0; which of those this slice was, by the instance's own count from 1 */
} weir_filter_decision;

/* ---- What the host offers ---- */

enum { WEIR_LOG_DEBUG = 0, WEIR_LOG_INFO = 1, WEIR_LOG_WARNING = 2, WEIR_LOG_ERROR = 3 };

/* A counter or histogram that could not be had; using it does nothing. */
#define WEIR_NO_METRIC UINT32_MAX

/* Bytes that a slice is forwarded with at most. */
#define WEIR_FORWARD_BYTES_MAX 4096u
/* A source group that the farm does not have; a request for it fails the slice (`filter_error`). */
#define WEIR_NO_GROUP UINT32_MAX

/* Services, valid from create to the end of destroy, for this instance only and never during another's call.
 * The first argument is always the struct itself. Functions marked (process) count only inside process. Those
 * that return int32_t give 0, or another value when a limit of the host is reached: the slice then counts as
 * `filter_error` whatever the filter decides. */
typedef struct weir_filter_host weir_filter_host;
struct weir_filter_host {
  uint32_t struct_size;
  uint32_t abi_version; /* WEIR_FILTER_ABI_VERSION of the host */
  void* context;        /* the host's */

  /* One line of text, without a line feed. Past a number of lines per run they are counted, not written. */
  void (*log)(const weir_filter_host* host, int32_t level, const char* text);

  /* The stream of this name as one bit, 0 when the farm has none of this name. "debug" is always there. */
  uint64_t (*stream)(const weir_filter_host* host, const char* name);

  /* Metrics are named once and then used by their number. All instances of a farm add up under one name. */
  uint32_t (*counter)(const weir_filter_host* host, const char* name);
  void (*count)(const weir_filter_host* host, uint32_t counter, uint64_t amount);
  uint32_t (*histogram)(const weir_filter_host* host, const char* name);
  void (*record)(const weir_filter_host* host, uint32_t histogram, double value);

  /* (process) The next number of a sequence that depends on run, slice and step alone: another instance,
   * another attempt and a replay get the same. */
  uint64_t (*random)(const weir_filter_host* host);

  /* (process) For an accept: appends an output event, with an id of the filter's own choice. */
  int32_t (*add_event)(const weir_filter_host* host, uint64_t id, const void* bytes, uint64_t size);
  /* (process) For an accept: what is stored as the slice's filter result; the last call counts. */
  int32_t (*set_result)(const weir_filter_host* host, const void* bytes, uint64_t size);
  /* (process) For an accept with WEIR_KEEP_LISTED: adds to the list. Sources that have no bytes are passed
   * over. */
  int32_t (*keep_sources)(const weir_filter_host* host, const uint32_t* sources, uint32_t count);
  /* (process) For WEIR_FILTER_NEED_MORE: adds to the list. At least one must not have been asked for before.
   */
  int32_t (*need_sources)(const weir_filter_host* host, const uint32_t* sources, uint32_t count);

  /* (process) For WEIR_FILTER_FORWARD: the group of DCMs that goes on with the slice, by its name in the farm
   * file, and up to WEIR_FORWARD_BYTES_MAX bytes for its filter; the last call counts. Returns another value
   * than 0, and the slice counts as `filter_error`, if this group may not forward there. */
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
};

/* ---- What a plugin is ---- */

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
  const uint32_t* sources; /* of the run, masked ones left out, sorted; valid until end_run has returned */
} weir_filter_run;

#define WEIR_ALL_SOURCES UINT32_MAX

/* `error` is a buffer of error_size >= 256 bytes for a sentence that ends with a zero byte; it is read when
 * the function returns something else than success. Functions marked (optional) may be NULL. */
typedef struct weir_filter_plugin {
  uint32_t struct_size;
  uint32_t abi_version;    /* WEIR_FILTER_ABI_VERSION */
  const char* name;        /* as in the farm file and in the name of the library, `name`.so */
  const char* version;     /* of the plugin; stands in the run's record */
  const char* description; /* one line */

  /* A new instance, or NULL with an error. An unknown or unusable parameter is an error. `parameters` is
   * valid during the call, `host` until destroy has returned. */
  void* (*create)(const weir_filter_parameters* parameters, const weir_filter_host* host, char* error,
                  uint32_t error_size);
  /* (optional) 0, or another value with an error: the run then does not start. */
  int32_t (*begin_run)(void* instance, const weir_filter_run* run, char* error, uint32_t error_size);
  /* Decides on one step of one slice. 0, or another value with an error: the slice then counts as
   * `filter_error` and goes where the farm's configuration says. Must not wait for anything. */
  int32_t (*process)(void* instance, const weir_filter_slice* slice, weir_filter_decision* decision,
                     char* error, uint32_t error_size);
  /* (optional) */
  void (*end_run)(void* instance);
  void (*destroy)(void* instance);

  /* (optional) The sources that step 0 wants, asked after begin_run: fills in at most `capacity` of them and
   * returns how many there are (the host asks again with more room), or WEIR_ALL_SOURCES for no wish. First
   * sources and groups of the farm file go before a wish; step 0 may then find other fragments than it wished
   * for. */
  uint32_t (*first_sources)(void* instance, uint32_t* sources, uint32_t capacity);
} weir_filter_plugin;

/* The exported symbol. The struct must stay valid for as long as the library is loaded. */
typedef const weir_filter_plugin* (*weir_filter_entry_point)(void);
WEIR_FILTER_EXPORT const weir_filter_plugin* weir_filter_plugin_v1(void);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-*) */

/*
 * Event files of TensorBoard: TFRecords of Event messages with scalars.
 *
 * A record is the length of its data (u64), the masked CRC-32C of these 8 bytes
 * (u32), the data, and their masked CRC-32C; all little-endian.  The mask of a
 * CRC c is (c >> 15 | c << 17) + 0xa282ead8.  The data are an Event of
 * tensorflow/core/util/event.proto in protocol buffers, with the fields 1
 * wall_time (double), 2 step (int64), 3 file_version (string) and 5 summary.
 * Field 1 of the summary, value, has the fields 1 tag (string) and 2
 * simple_value (float).
 */
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include "base/mem.h"

#include <stdint.h>

/* Append the record that begins a file. */
void events_begin(struct buf *b);
/* Append the record of a scalar. */
void events_scalar(struct buf *b, double wall_time, uint64_t step,
    const char *tag, double value);

#endif

/*
 * Options of programs that evaluate models; cli/shared.h has the OPT_ macros.
 * `a` is the program's struct, with the members that are named here:
 *
 *   struct opt_list models; const char *adapter, *base, *out, *resume;
 *   int format, per_source, compare, compute; size_t rows, threads;
 *
 * format/sheet.h has format_names, and model/pass/compute.h has compute_names.
 */
#ifndef EVAL_OPTIONS_H
#define EVAL_OPTIONS_H

#define EVAL_MODEL_OPTIONS(a)                                  \
    OPT_LIST('m', "model", &(a).models, "model",               \
        "evaluate this model, [label=]path; may be repeated"), \
        OPT_ADAPTER(&(a).adapter),                             \
        OPT_STR(0, "base", &(a).base, "model",                 \
            "teacher to compare with (is evaluated too)")
#define EVAL_REPORT_OPTIONS(a)                                                \
    OPT_STR('o', "output", &(a).out, "file",                                  \
        "file to write the report to (default: standard output)"),            \
        OPT_FORMAT(&(a).format, format_names),                                \
        OPT_FLAG(0, "per-source", &(a).per_source,                            \
            "report each source separately too"),                             \
        OPT_FLAG(0, "compare", &(a).compare,                                  \
            "report the differences between models on the same documents or " \
            "items")
#define EVAL_RUN_OPTIONS(a)                                      \
    OPT_GROUP("run"),                                            \
        OPT_SIZE('B', "batch-size", &(a).rows, 0, 65536, "rows", \
            "rows of a batch (0: as many as 4096 tokens hold)"), \
        OPT_COMPUTE(&(a).compute), OPT_RESUME(&(a).resume),      \
        OPT_THREADS(&(a).threads)

#endif

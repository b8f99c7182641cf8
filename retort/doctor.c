/* Describes the machine; see doctor.h. */
#include "doctor.h"
#include "bench.h"
#include "processor.h"
#include "programs.h"
#include "base/cpu.h"
#include "base/energy.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/numa.h"
#include "base/number.h"
#include "base/quota.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "kern/kern.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- lines ---- */

/* Append a line: the name of a thing, and a text about it. */
static void
add_line(struct buf *b, const char *what, const char *text)
{
    buf_addf(b, "%-12s %s\n", what, text);
}

/* Append a line about a thing that the user can do without: `use` says what the
 * thing is for; if the thing is missing, `cost` says what the user lacks. */
static void
add_optional(struct buf *b, const char *what, int there, const char *use,
    const char *cost)
{
    char text[300];

    snprintf(text, sizeof text, "%s%s",
        there ? "" : "missing: ", there ? use : cost);
    add_line(b, what, text);
}

/* ---- files that the system describes itself by ---- */

/* Copy the word in brackets in a file such as "always [madvise] never" to
 * text[n]; "" if there is none. */
static void
read_choice(const char *path, char *text, size_t n)
{
    char line[200];
    FILE *f = fopen(path, "r");
    const char *open = NULL;

    *text = '\0';
    if (f != NULL && fgets(line, sizeof line, f) != NULL)
        open = strchr(line, '[');
    if (open != NULL)
        snprintf(text, n, "%.*s", (int)strcspn(open + 1, "]"), open + 1);
    if (f != NULL)
        fclose(f);
}

/* ---- parts of the description ---- */

static void
add_processor(struct buf *b)
{
    char model[200];
    struct numa_state where;
    const size_t quota = quota_cpus("");

    processor_name("/proc/cpuinfo", model, sizeof model);
    add_line(b, "processor", model);
    numa_describe(&where);
    add_line(b, "place", where.text);
    if (*where.why != '\0')
        add_line(b, "", where.why);
    if (quota > 0) {
        char text[100];

        snprintf(text, sizeof text,
            "the time of %zu processors, by control group", quota);
        add_line(b, "quota", text);
    }
}

/* Return the name of the instruction that computes products of bfloat16 numbers
 * on this machine. */
static const char *
bf16_by(void)
{
    const char *fastest = kern_fastest();

    if (strcmp(fastest, "amx") == 0)
        return "AMX";
    if (strcmp(fastest, "avx512bf16") == 0)
        return "AVX512-BF16";
    return cpu_bfmmla() ? "BFMMLA" : "multiply-adds, no faster than fp32";
}

/* Append lines about the processor's kernels.  Returns 0 if only slow ones can
 * be used and nobody asked for them (RETORT_KERNELS), else 1. */
static int
add_kernels(struct buf *b)
{
    const char *why = kern_init();
    char text[300];

    if (why != NULL) {
        add_line(b, "kernels", why);
        return 0;
    }
    snprintf(text, sizeof text, "%s; 8-bit integers: %s; bfloat16: %s",
        kern_name(),
        cpu_vnni()          ? "VNNI"
            : cpu_dotprod() ? "SDOT"
                            : "without an instruction for dot products",
        bf16_by());
    add_line(b, "kernels", text);
    if (strcmp(kern_name(), "ref") != 0)
        return 1;
    add_line(b, "",
        "plain C alone is tens of times slower: retort is meant "
        "for processors with AVX2 or NEON");
    return getenv("RETORT_KERNELS") != NULL;
}

static void
add_memory(struct buf *b)
{
    const struct memory m = quota_memory("");
    char text[200], pages[40];

    snprintf(text, sizeof text, "%.1f GB, of which %.1f are available",
        (double)m.all * 1e-9, (double)m.available * 1e-9);
    add_line(b, "memory", text);
    read_choice("/sys/kernel/mm/transparent_hugepage/enabled", pages,
        sizeof pages);
    if (strcmp(pages, "always") == 0 || strcmp(pages, "madvise") == 0)
        snprintf(text, sizeof text, "given where they are asked for (%s)",
            pages);
    else
        snprintf(text, sizeof text,
            "missing: some products are slower; as root: echo madvise "
            ">/sys/kernel/mm/transparent_hugepage/enabled");
    add_line(b, "large pages", text);
}

/* Append a line about missing programs.  Returns 1 if none is missing, else 0.
 */
static int
add_programs(struct buf *b)
{
    struct buf missing = { 0 };
    size_t there = 0, n = 0;

    for (const struct program *p = programs; p->name != NULL; p++) {
        char *path = program_path(p->name);

        if (access(path, X_OK) == 0)
            there++;
        else
            buf_addf(&missing, "%s%s", missing.n > 0 ? " " : "", p->name);
        n++;
        free(path);
    }
    if (there < n) {
        buf_addf(b, "%-12s missing: %s; install retort again\n", "programs",
            missing.p);
    } else {
        buf_addf(b, "%-12s all %zu are beside this one\n", "programs", there);
    }
    buf_release(&missing);
    return there == n;
}

static void
add_libraries(struct buf *b)
{
    struct energy counters;

    add_optional(b, "Open MPI", HAVE_MPI && program_in_path("mpirun"),
        "training over several processes and machines",
        HAVE_MPI ? "install openmpi-bin (mpirun) to train over several "
                   "processes"
                 : "training runs in one process; install libopenmpi-dev and "
                   "openmpi-bin, and build again");
    add_optional(b, "HTTP", HAVE_HTTPD, "serve was built",
        "serve was not built; install libmicrohttpd-dev and build again");
    add_optional(b, "libedit", HAVE_EDIT,
        "generate chat edits lines and keeps a history",
        "generate chat does not edit lines; install libedit-dev and build "
        "again");
    /* prune opens the library by the same name */
    add_optional(b, "OpenBLAS",
        dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL) != NULL,
        "prune repairs what it cuts, and sparsifies by OBS",
        "prune needs --no-repair, and prune sparsify has no --method obs; "
        "install libopenblas0");
    add_optional(b, "CLD2", HAVE_CLD2, "clean --lang auto finds languages",
        "clean cannot find languages; install libcld2-dev and a C++ compiler, "
        "and build again");
    energy_read(&counters, "");
    add_optional(b, "energy", counters.n > 0, "plan calibrate measures power",
        "RAPL counters cannot be read; plan calibrate leaves power out");
    add_optional(b, "npm", program_in_path("npm"),
        "recipes can fetch their text",
        "recipes/smollm2.mk cannot fetch its text; install npm, or give "
        "TEXT=FOLDER");
    add_optional(b, "man", program_in_path("man"), "retort help shows pages",
        "retort help prints options instead of pages; install man-db");
}

int
doctor_main(int argc, char **argv)
{
    const char *bench = NULL;
    const struct opt table[] = {
        OPT_MAYBE(0, "bench", &bench, "seconds",
            "also measure products and memory (default 20)"),
        OPT_END
    };
    struct buf b = { 0 };
    double seconds = 20.0;
    int well;

    opt_parse(argc, argv, table, "say what this machine has, and what it lacks",
        "", 0, 0, NULL);
    if (bench != NULL && bench != opt_absent &&
        number_real(bench, 0.0, 3600.0, &seconds) < 0)
        die(EX_USAGE,
            "--bench: seconds must be a number from 0 to 3600, not \"%s\"",
            bench);
    add_processor(&b);
    well = add_kernels(&b);
    add_memory(&b);
    well &= add_programs(&b);
    add_libraries(&b);
    if (bench != NULL && kern_init() == NULL) {
        note("measuring for %g s", seconds);
        bench_machine(&b, seconds);
    }
    out_put(b.p, b.n);
    out_done();
    buf_release(&b);
    return well ? EX_OK : EX_SYS;
}

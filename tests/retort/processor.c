/* Names of processors, as Linux describes them on x86 and on Arm. */
#include "retort/processor.h"
#include "tests/lib/tap.h"

#include <string.h>

/* Is the name that processor_name finds in `text` the expected one? */
static int
named(const char *text, const char *expected)
{
    char name[100];
    FILE *f = fopen("cpuinfo", "w");

    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
        return 0;
    processor_name("cpuinfo", name, sizeof name);
    if (strcmp(name, expected) == 0)
        return 1;
    printf("# %s\n", name);
    return 0;
}

int
main(void)
{
    ok(named("processor\t: 0\nvendor_id\t: GenuineIntel\n"
             "model name\t: Intel(R) Xeon(R) Processor\nmodel name\t: other\n",
           "Intel(R) Xeon(R) Processor"),
        "x86: the name that the file has");
    ok(named("processor\t: 0\nCPU implementer\t: 0x41\n"
             "CPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n",
           "Neoverse V1"),
        "Arm: the name of a number that the table has");
    ok(named("CPU implementer\t: 0x46\nCPU part\t: 0xd40\n",
           "64-bit Arm, implementer 0x46, part 0xd40"),
        "a part of another maker is not named");
    ok(named("processor\t: 0\n", "unknown"), "a file without either");
    remove("cpuinfo");
    return done_testing();
}

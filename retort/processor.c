/* Names of processors; see processor.h. */
#include "processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
processor_key(const char *path, const char *key, char *text, size_t n)
{
    char line[1000];
    FILE *f = fopen(path, "r");

    *text = '\0';
    while (f != NULL && *text == '\0' && fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');

        if (colon == NULL || strncmp(line, key, strlen(key)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, n, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    if (f != NULL)
        fclose(f);
}

/* Arm's numbers are those of the register MIDR_EL1. */
void
processor_name(const char *path, char *text, size_t n)
{
    static const struct {
        unsigned long maker, part;
        const char *name;
    } arm[] = {
        { 0x41, 0xd03, "Cortex-A53" },
        { 0x41, 0xd05, "Cortex-A55" },
        { 0x41, 0xd07, "Cortex-A57" },
        { 0x41, 0xd08, "Cortex-A72" },
        { 0x41, 0xd0b, "Cortex-A76" },
        { 0x41, 0xd0c, "Neoverse N1" },
        { 0x41, 0xd40, "Neoverse V1" },
        { 0x41, 0xd49, "Neoverse N2" },
        { 0x41, 0xd4f, "Neoverse V2" },
        { 0x41, 0xd84, "Neoverse V3" },
        { 0x46, 0x001, "A64FX" },
        { 0xc0, 0xac3, "Ampere-1" },
    };
    char maker[20], part[20];

    processor_key(path, "model name", text, n);
    if (*text != '\0')
        return;
    processor_key(path, "CPU implementer", maker, sizeof maker);
    processor_key(path, "CPU part", part, sizeof part);
    if (*part == '\0') {
        snprintf(text, n, "unknown");
        return;
    }
    snprintf(text, n, "64-bit Arm, implementer %s, part %s", maker, part);
    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++)
        if (strtoul(maker, NULL, 16) == arm[i].maker &&
            strtoul(part, NULL, 16) == arm[i].part)
            snprintf(text, n, "%s", arm[i].name);
}

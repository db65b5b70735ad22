/* A file on a simulated W25N01GV, and what is left of it after the power failed: spi_nand FILE. On a device the bus is two
 * functions of yours; all else stays. */
#include <stdio.h>
#include <string.h>

#include "thermocline.h"
#include "thermocline_simulated.h"

#define PAGE 2048
#define LOGICAL 58000

static thermocline_spi_nand driver;
static thermocline store;
static uint32_t memory[20 * 1024 / sizeof(uint32_t)];
static uint8_t page[PAGE], file[64 * 1024], read_again[sizeof file];

static int fail(const char *what, int code)
{
    fprintf(stderr, "%s: %s\n", what, thermocline_error_text(code));
    return 1;
}

int main(int argc, char **argv)
{
    struct thermocline_spi bus;
    struct thermocline_nand nand;
    struct thermocline_health health;
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : NULL;
    uint32_t length;
    char name[24];
    int code, i;

    if (!in) {
        fprintf(stderr, "spi_nand FILE\n");
        return 1;
    }
    length = (uint32_t)fread(file, 1, sizeof file, in);
    fclose(in);

    thermocline_simulated_w25n01gv(&bus);
    code = thermocline_spi_nand_open(&driver, &bus, &nand, NULL);
    if (code < 0)
        return fail("chip", code);
    thermocline_spi_nand_name(&driver, name, sizeof name);
    code = thermocline_format(&store, &nand, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, sizeof memory, LOGICAL, 2);
    if (code < 0)
        return fail("format", code);
    /* The length in the first page, the file behind it. */
    code = thermocline_write_at(&store, PAGE, file, length, page);
    if (code >= 0)
        code = thermocline_write_at(&store, 0, &length, sizeof length, page);
    if (code < 0)
        return fail("write", code);

    /* It is overwritten with something else until the power fails, in the middle of a page. */
    thermocline_simulated_cut(&bus, 100000);
    for (i = 0; code >= 0; i++)
        code = thermocline_write(&store, 100 + i % 50, page);
    if (code != THERMOCLINE_DEVICE)
        return fail("the power did not fail", code);

    thermocline_simulated_power_on(&bus);
    memset(&store, 0, sizeof store);
    memset(memory, 0, sizeof memory);
    code = thermocline_spi_nand_open(&driver, &bus, &nand, NULL);
    if (code >= 0)
        code = thermocline_mount(&store, &nand, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, sizeof memory);
    if (code < 0)
        return fail("mount", code);
    code = thermocline_read_at(&store, 0, &length, sizeof length, page);
    if (code >= 0 && length <= sizeof read_again)
        code = thermocline_read_at(&store, PAGE, read_again, length, page);
    if (code < 0)
        return fail("read", code);
    if (memcmp(read_again, file, length)) {
        fprintf(stderr, "other bytes were read\n");
        return 1;
    }
    thermocline_health(&store, &health);
    printf("%s: %u bytes read back after a power cut; %u bad blocks, %u spare\n", name, (unsigned)length, (unsigned)health.bad_blocks,
           (unsigned)health.spare_blocks);
    return 0;
}

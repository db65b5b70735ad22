/* The same work on the same chip through a layer's own interface: PEER is thermocline, dhara or littlefs.
 *
 *   bench WORK FULL RAM TIMES [EVERY]   WORK: sequential, uniform, 90/10, zipf, or a file of page numbers; FULL: percent of the
 *                           chip's pages that the host sees; RAM: bytes in all (thermocline), or what the peer is set to
 *
 * Prints a line: erasures, programs a page written, milliseconds to mount after a power cut, mean and worst write, bytes
 * of RAM. With EVERY the device is switched off after so many writes and a sync, 400 times after that work, and the line is: erasures
 * and programs a page written, loads of a page in a mount, milliseconds of a mount, the worst one, microseconds a write with its sync, RAM.
 *
 * BUS in the environment: nanoseconds a byte on the bus, 20 where it is not set; 200 is SPI with one line at 40 MHz.
 * RATIO: dhara's gc_ratio, otherwise the least with room for the data. layers.h has the chip.
 */
#include <math.h>

#include "layers.h"

#if defined(LITTLEFS)
#include "littlefs.h"

/* A file takes a block at least, and is rewritten from what changes to its end. */
#define FILE_PAGES PAGES

static void begin(uint32_t pages)
{
    (void)pages;
    check(lfs_format(&lfs, &config) == 0 && lfs_mount(&lfs, &config) == 0, "littlefs cannot be made");
    ram = sizeof lfs + sizeof(lfs_file_t) + sizeof read_buffer + sizeof prog_buffer + sizeof lookahead +
          sizeof file_buffer;
}

static void open_page(lfs_file_t *file, uint32_t page, int flags)
{
    char name[16];
    snprintf(name, sizeof name, "%u", page / FILE_PAGES);
    check(lfs_file_opencfg(&lfs, file, name, flags, &file_config) == 0, "littlefs has no room");
    check(lfs_file_seek(&lfs, file, (lfs_soff_t)(page % FILE_PAGES) * PAGE, LFS_SEEK_SET) >= 0, "seek");
}

static void put(uint32_t page, const uint8_t *bytes)
{
    lfs_file_t file;
    open_page(&file, page, LFS_O_RDWR | LFS_O_CREAT);
    check(lfs_file_write(&lfs, &file, bytes, PAGE) == PAGE, "littlefs has no room");
    check(lfs_file_close(&lfs, &file) == 0, "littlefs has no room");
}

static void get(uint32_t page, uint8_t *bytes)
{
    lfs_file_t file;
    open_page(&file, page, LFS_O_RDONLY);
    check(lfs_file_read(&lfs, &file, bytes, PAGE) == PAGE, "a page is lost");
    check(lfs_file_close(&lfs, &file) == 0, "close");
}

static void sync_all(void) {}

static void mount_again(void)
{
    memset(&lfs, 0, sizeof lfs);
    check(lfs_mount(&lfs, &config) == 0, "mount");
}
#endif

/* --- The work */

static uint64_t state = 1;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
static uint32_t below(uint32_t bound) { return (uint32_t)((draw() >> 32) * bound >> 32); }

static uint32_t *scattered;
static double *cumulated;
static FILE *list;

static uint32_t next_page(const char *work, uint64_t n, uint32_t pages)
{
    if (list) {
        unsigned page;
        if (fscanf(list, "%u", &page) != 1) {
            rewind(list);
            check(fscanf(list, "%u", &page) == 1, "the list of pages is empty");
        }
        return page % pages;
    }
    if (!strcmp(work, "sequential"))
        return (uint32_t)(n % pages);
    if (!strcmp(work, "uniform"))
        return below(pages);
    if (!strcmp(work, "90/10")) {
        uint32_t hot = pages / 10;
        return scattered[below(10) ? below(hot) : hot + below(pages - hot)];
    }
    double at = (double)(draw() >> 11) / 9007199254740992.0 * cumulated[pages - 1];
    uint32_t low = 0, high = pages - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (cumulated[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return scattered[low];
}

static uint32_t *version;

static void write_next(const char *work, uint64_t n, uint32_t pages, uint8_t *page)
{
    uint32_t at = next_page(work, n, pages);
    version[at]++;
    memcpy(page, &at, sizeof at);
    memcpy(page + 4, &version[at], sizeof version[at]);
    put(at, page);
}

static void check_all(uint32_t pages, uint8_t *page)
{
    for (uint32_t i = 0; i < pages; i++) {
        uint32_t seen[2];
        get(i, page);
        memcpy(seen, page, sizeof seen);
        check(seen[0] == i && seen[1] == version[i], "another version was read after the mount");
    }
}

/* The power goes off after so many writes and a sync, again and again. */
static void cycles(const char *work, uint64_t n, uint32_t pages, uint32_t every, uint8_t *page)
{
    const double mounts = 400, writes = mounts * every;
    uint64_t erases0 = erases, programs0 = programs, in_mounts = 0, mounting = 0, worst = 0, writing = 0;
    for (int cycle = 0; cycle < mounts; cycle++) {
        uint64_t before = ns, loads0 = loads;
        mount_again();
        in_mounts += loads - loads0;
        mounting += ns - before;
        if (ns - before > worst)
            worst = ns - before;
        before = ns;
        for (uint32_t i = 0; i < every; i++)
            write_next(work, n++, pages, page);
        sync_all();
        writing += ns - before;
    }
    uint64_t erased = erases - erases0, wrote = programs - programs0;
    mount_again();
    check_all(pages, page);
    printf("%.3f %.2f %.0f %.1f %.1f %.0f %zu\n", (double)erased / writes, (double)wrote / writes, (double)in_mounts / mounts,
           (double)mounting / mounts / 1e6, (double)worst / 1e6, (double)writing / writes / 1e3, ram);
}

int main(int argc, char **argv)
{
    check(argc == 5 || argc == 6, "usage: bench WORK FULL RAM TIMES [EVERY]");
    if (getenv("BUS"))
        bus = (uint64_t)atol(getenv("BUS"));
    const char *work = argv[1];
    uint32_t pages = (uint32_t)((uint64_t)CHIP_PAGES * (unsigned)atoi(argv[2]) / 100), i;
    ram = (size_t)atol(argv[3]);
    uint64_t writes = (uint64_t)(pages * atof(argv[4])), n, worst = 0;
    uint8_t page[PAGE];
    version = calloc(pages, sizeof *version);

    data = malloc((size_t)CHIP_PAGES * PAGE);
    memset(data, 0xff, (size_t)CHIP_PAGES * PAGE);
    memset(areas, 0xff, sizeof areas);
    memset(page, 0, sizeof page);
    if (strchr(work, '.'))
        check((list = fopen(work, "r")) != NULL, "the list of pages cannot be read");
    scattered = malloc(pages * sizeof *scattered);
    cumulated = malloc(pages * sizeof *cumulated);
    for (i = 0; i < pages; i++) {
        scattered[i] = i;
        cumulated[i] = (i ? cumulated[i - 1] : 0) + pow(i + 1, -0.99);
    }
    for (i = pages - 1; i > 0; i--) {
        uint32_t other = below(i + 1), kept = scattered[i];
        scattered[i] = scattered[other];
        scattered[other] = kept;
    }

    begin(pages);
    for (i = 0; i < pages; i++) {
        memcpy(page, &i, sizeof i);
        put(i, page);
    }
    sync_all();
    uint64_t ns0 = ns, erases0 = erases, programs0 = programs;
    for (n = 0; n < writes; n++) {
        uint64_t before = ns;
        write_next(work, n, pages, page);
        if (ns - before > worst)
            worst = ns - before;
    }
    sync_all();
    if (argc == 6) {
        cycles(work, n, pages, (uint32_t)atoi(argv[5]), page);
        return 0;
    }
    uint64_t erased = erases - erases0, took = ns - ns0, wrote = programs - programs0;
    uint64_t before = ns;
    mount_again();
    uint64_t mounted = ns - before;
    check_all(pages, page);
    printf("%llu %.3f %llu %.0f %.1f %zu\n", (unsigned long long)erased, (double)wrote / (double)writes,
           (unsigned long long)(mounted / 1000000), (double)took / (double)writes / 1e3, (double)worst / 1e6, ram);
    return 0;
}

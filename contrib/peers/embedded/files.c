/* Files of a device on the layers: FatFs or littlefs on thermocline or on dhara (-DFAT or -DLITTLEFS, with -DTHERMOCLINE or -DDHARA),
 * and littlefs on the chip itself (-DLITTLEFS alone).
 *
 *   files WORK FULL RAM     WORK: log, settings or files; FULL: percent of the chip's pages that the file system sees; RAM: bytes
 *                           in all for thermocline
 *
 * A file that nobody writes again takes half of the file system. log: 20,000 records of 64 bytes, each synced, in four files of
 * 128 KiB in turn. settings: one of eight files of 1,000 bytes is written anew and closed, 4,000 times. files: 1,500 files of
 * 48 KiB, of which the last hundred are kept. Before, the same work programs the chip twice over.
 *
 * Prints a line: programs a step, erasures of 1,000 steps, mean and worst step in microseconds and milliseconds, milliseconds to
 * mount after a power cut, bytes of RAM of the layer. What was written last is read back after the mount.
 * RATIO: dhara's gc_ratio. FatFs needs sectors of 2,048 bytes (FF_MAX_SS), FF_USE_MKFS, FF_USE_TRIM and FF_FS_NORTC.
 */
#include "layers.h"

static uint32_t pages;

/* What was never written reads as something. */
#if defined(THERMOCLINE)
static void fetch(uint32_t page, void *into) { check(thermocline_read(&store, page, into) >= 0, "read"); }
#elif defined(DHARA)
static void fetch(uint32_t page, void *into) { get(page, into); }
#endif

#if defined(FAT)
#include "ff.h"

#include "diskio.h"

static FATFS fat;
static FIL file;

#if defined(THERMOCLINE)
static void forget(uint32_t page) { check(thermocline_trim(&store, page) >= 0, "trim"); }
#elif defined(DHARA)
static void forget(uint32_t page)
{
    dhara_error_t err;
    check(dhara_map_trim(&map, page, &err) == 0, "trim");
}
#endif

DSTATUS disk_initialize(BYTE drive) { return drive; }
DSTATUS disk_status(BYTE drive) { return drive; }
DRESULT disk_read(BYTE drive, BYTE *into, LBA_t sector, UINT count)
{
    for (UINT i = 0; i < count; i++)
        fetch((uint32_t)sector + i, into + i * PAGE);
    return drive ? RES_PARERR : RES_OK;
}
DRESULT disk_write(BYTE drive, const BYTE *from, LBA_t sector, UINT count)
{
    for (UINT i = 0; i < count; i++)
        put((uint32_t)sector + i, from + i * PAGE);
    return drive ? RES_PARERR : RES_OK;
}
DRESULT disk_ioctl(BYTE drive, BYTE what, void *value)
{
    LBA_t *range = value;
    switch (what) {
    case CTRL_SYNC:
        sync_all();
        break;
    case GET_SECTOR_COUNT:
        *(LBA_t *)value = pages;
        break;
    case GET_SECTOR_SIZE:
        *(WORD *)value = PAGE;
        break;
    case GET_BLOCK_SIZE:
        *(DWORD *)value = 1;
        break;
    case CTRL_TRIM:
        for (LBA_t sector = range[0]; sector <= range[1]; sector++)
            forget((uint32_t)sector);
    }
    return drive ? RES_PARERR : RES_OK;
}

static void fs_mount(void)
{
    mount_again();
    check(f_mount(&fat, "", 1) == FR_OK, "FatFs does not mount");
}
static void fs_begin(void)
{
    static BYTE work[4 * PAGE];
    const MKFS_PARM how = {FM_ANY | FM_SFD, 0, 0, 0, 0};
    begin(pages);
    check(f_mkfs("", &how, work, sizeof work) == FR_OK, "FatFs cannot be made");
    check(f_mount(&fat, "", 1) == FR_OK, "FatFs does not mount");
}
static void fs_open(const char *name, char how)
{
    BYTE mode = how == 'r' ? FA_READ : FA_WRITE | (how == 'w' ? FA_CREATE_ALWAYS : FA_OPEN_APPEND);
    check(f_open(&file, name, mode) == FR_OK, "a file cannot be opened");
}
static void fs_write(const void *from, uint32_t length)
{
    UINT done;
    check(f_write(&file, from, length, &done) == FR_OK && done == length, "the file system is full");
}
static void fs_read(void *into, uint32_t length)
{
    UINT done;
    check(f_read(&file, into, length, &done) == FR_OK && done == length, "a file is shorter after the mount");
}
static void fs_sync(void) { check(f_sync(&file) == FR_OK, "sync"); }
static void fs_close(void) { check(f_close(&file) == FR_OK, "close"); }
static void fs_remove(const char *name) { check(f_unlink(name) == FR_OK, "a file cannot be removed"); }

#elif defined(LITTLEFS)
#if defined(THERMOCLINE) || defined(DHARA)
#define BLOCK_PAGES 2
static void page_read(uint32_t page, uint32_t offset, uint32_t length, void *into)
{
    static uint8_t whole[PAGE];
    fetch(page, whole);
    memcpy(into, whole + offset, length);
}
static void page_program(uint32_t page, const void *from) { put(page, from); }
/* What is erased is written next: a trim would gain nothing. */
static void block_erase(uint32_t block) { (void)block; }
#else
static void begin(uint32_t count) { (void)count; }
static void mount_again(void) {}
static void sync_all(void) {}
#endif
#include "littlefs.h"

static lfs_file_t file;

static void fs_mount(void)
{
    mount_again();
    memset(&lfs, 0, sizeof lfs);
    check(lfs_mount(&lfs, &config) == 0, "littlefs does not mount");
}
static void fs_begin(void)
{
    begin(pages);
    config.block_count = pages / BLOCK_PAGES;
    check(lfs_format(&lfs, &config) == 0 && lfs_mount(&lfs, &config) == 0, "littlefs cannot be made");
}
static void fs_open(const char *name, char how)
{
    int flags = how == 'r' ? LFS_O_RDONLY : LFS_O_WRONLY | LFS_O_CREAT | (how == 'w' ? LFS_O_TRUNC : LFS_O_APPEND);
    check(lfs_file_opencfg(&lfs, &file, name, flags, &file_config) == 0, "a file cannot be opened");
}
static void fs_write(const void *from, uint32_t length)
{
    check(lfs_file_write(&lfs, &file, from, length) == (lfs_ssize_t)length, "the file system is full");
}
static void fs_read(void *into, uint32_t length)
{
    check(lfs_file_read(&lfs, &file, into, length) == (lfs_ssize_t)length, "a file is shorter after the mount");
}
static void fs_sync(void) { check(lfs_file_sync(&lfs, &file) == 0, "sync"); }
static void fs_close(void) { check(lfs_file_close(&lfs, &file) == 0, "close"); }
static void fs_remove(const char *name) { check(lfs_remove(&lfs, name) == 0, "a file cannot be removed"); }
#endif

/* --- The work */

#define FILE_BYTES (48 * 1024)
#define LOG_BYTES (128 * 1024)
#define RECORD 64
#define SETTINGS 1000
#define KEPT 100

static uint8_t bytes[FILE_BYTES];
static char name[16];
static uint32_t last_length;

static void fill(uint32_t step, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(step * 131 + i * 7 + (step >> 8));
    last_length = length;
}

static void write_file(uint32_t step, uint32_t length)
{
    fill(step, length);
    fs_open(name, 'w');
    fs_write(bytes, length);
    fs_close();
}

static void one_step(char work, uint32_t step)
{
    const uint32_t records = LOG_BYTES / RECORD;
    switch (work) {
    case 'l':
        if (step % records == 0) {
            if (step > 0)
                fs_close();
            snprintf(name, sizeof name, "log%u", step / records % 4);
            fs_open(name, 'w');
        }
        fill(step, RECORD);
        fs_write(bytes, RECORD);
        fs_sync();
        break;
    case 's':
        snprintf(name, sizeof name, "set%u", step % 8);
        write_file(step, SETTINGS);
        break;
    default:
        if (step >= KEPT) {
            snprintf(name, sizeof name, "f%u", step - KEPT);
            fs_remove(name);
        }
        snprintf(name, sizeof name, "f%u", step);
        write_file(step, FILE_BYTES);
    }
}

int main(int argc, char **argv)
{
    check(argc == 4, "usage: files log|settings|files FULL RAM");
    if (getenv("BUS"))
        bus = (uint64_t)atol(getenv("BUS"));
    const char work = argv[1][0];
    pages = (uint32_t)((uint64_t)CHIP_PAGES * (unsigned)atoi(argv[2]) / 100);
    ram = (size_t)atol(argv[3]);
    data = malloc((size_t)CHIP_PAGES * PAGE);
    memset(data, 0xff, (size_t)CHIP_PAGES * PAGE);
    memset(areas, 0xff, sizeof areas);

    fs_begin();
    fs_open("static", 'w');
    for (uint32_t page = 0; page < pages / 2; page += FILE_BYTES / PAGE) {
        fill(page, FILE_BYTES);
        fs_write(bytes, FILE_BYTES);
    }
    fs_close();

    /* Until the chip was programmed twice over: from then on a page that is written costs what it always will. */
    uint32_t first = 0;
    while (programs < 2 * (uint64_t)CHIP_PAGES)
        one_step(work, first++);
    const uint32_t steps = work == 'l' ? 20000 : work == 's' ? 4000 : 1500;
    uint64_t began = ns, programs0 = programs, erases0 = erases, worst = 0;
    for (uint32_t step = first; step < first + steps; step++) {
        uint64_t before = ns;
        one_step(work, step);
        if (ns - before > worst)
            worst = ns - before;
    }
    uint64_t took = ns - began, wrote = programs - programs0, erased = erases - erases0;
    if (work == 'l')
        fs_close();

    began = ns;
    fs_mount();
    uint64_t mounted = ns - began;
    static uint8_t seen[FILE_BYTES];
    fs_open(name, 'r');
    for (uint32_t left = work == 'l' ? (first + steps - 1) % (LOG_BYTES / RECORD) : 0; left > 0; left--)
        fs_read(seen, RECORD);
    fs_read(seen, last_length);
    check(memcmp(seen, bytes, last_length) == 0, "something else was read after the mount");
    printf("%.2f %.1f %.0f %.1f %.0f %zu\n", (double)wrote / steps, (double)erased * 1000 / steps, (double)took / steps / 1e3,
           (double)worst / 1e6, (double)mounted / 1e6, ram);
    return 0;
}

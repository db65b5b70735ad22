/*
 * The disk on flash in memory: its interface, its errors, a loss of power at every write and erase, two threads at once.
 *
 * CMakeLists.txt builds it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <thermocline/disk.h>
#include <zephyr/storage/disk_access.h>

#include "zephyr.h"

#define SECTOR 512
#define MOST_SECTORS 4096

extern const struct device disk_0_device, disk_1_device, disk_2_device;

static const struct kind {
	const char *name;
	struct flash *flash;
	const struct device *dev;
} kinds[] = {{"NOR", &nor, &disk_0_device}, {"NAND", &nand, &disk_1_device}, {"ODD", &odd, &disk_2_device}};

/* Numbers that look random. */
static uint32_t state;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

/* What a sector holds: zeros, or a version of it. */
static void fill(uint32_t *into, uint32_t sector, uint32_t version)
{
	for (uint32_t i = 0; i < SECTOR / 4; i++) {
		into[i] = version == 0 ? 0 : i == 0 ? version : version * 2654435761u + sector * 40503u + i;
	}
}

/* The version that a sector holds. */
static uint32_t version_of(const uint32_t *data, uint32_t sector)
{
	uint32_t should[SECTOR / 4];

	fill(should, sector, data[0]);
	require(memcmp(data, should, SECTOR) == 0);
	return data[0];
}

/* The versions that a sector may hold: several where the power failed during a write, or an erase was not synced. */
static struct sector {
	uint32_t may[8], count;
	bool erased;
} sectors[MOST_SECTORS];
static uint32_t sector_count, version;

static bool may_hold(const struct sector *sector, uint32_t holds)
{
	uint32_t i = 0;

	while (i < sector->count && sector->may[i] != holds) {
		i++;
	}
	return i < sector->count;
}

static void adds(struct sector *sector, uint32_t holds)
{
	if (!may_hold(sector, holds)) {
		require(sector->count < ARRAY_SIZE(sector->may));
		sector->may[sector->count++] = holds;
	}
}

static void holds_alone(struct sector *sector, uint32_t holds)
{
	*sector = (struct sector){{holds}, 1, false};
}

static void all_hold_zeros(void)
{
	for (uint32_t i = 0; i < MOST_SECTORS; i++) {
		holds_alone(&sectors[i], 0);
	}
}

static void check_all(const char *disk)
{
	static uint32_t data[64 * SECTOR / 4];

	for (uint32_t first = 0, count; first < sector_count; first += count) {
		count = MIN(64, sector_count - first);
		require(disk_access_read(disk, (uint8_t *)data, first, count) == 0);
		for (uint32_t i = 0; i < count; i++) {
			require(may_hold(&sectors[first + i], version_of(data + i * SECTOR / 4, first + i)));
		}
	}
}

/* One operation of a host, of many sectors one time in eight; 0, or what it answered. */
static int operate(const char *disk, uint32_t range)
{
	static uint32_t data[32 * SECTOR / 4];
	uint32_t count = 1 + draw(draw(8) ? 4 : 32);
	uint32_t first = draw(range - count), i;
	uint32_t kind = draw(16);
	int code;

	if (kind == 0) {
		code = disk_access_ioctl(disk, DISK_IOCTL_CTRL_SYNC, NULL);
		for (i = 0; code == 0 && i < sector_count; i++) {
			if (sectors[i].erased) {
				holds_alone(&sectors[i], 0);
			}
		}
		return code;
	}
	version++;
	for (i = 0; i < count; i++) {
		fill(data + i * SECTOR / 4, first + i, kind > 2 ? version : 0);
	}
	if (kind > 2) {
		code = disk_access_write(disk, (uint8_t *)data, first, count);
	} else {
		code = disk_access_erase(disk, first, count, DISK_ACCESS_ERASE_PHYSICAL);
	}
	for (i = first; i < first + count; i++) {
		if (code == 0 && kind > 2) {
			holds_alone(&sectors[i], version);
		} else {
			adds(&sectors[i], kind > 2 ? version : 0);
			sectors[i].erased = code == 0;
		}
	}
	return code;
}

static void power_off_and_on(const struct kind *kind)
{
	bool force = true;

	kind->flash->dead = true;
	require(disk_access_ioctl(kind->name, DISK_IOCTL_CTRL_DEINIT, &force) == 0);
	require(disk_access_status(kind->name) == DISK_STATUS_UNINIT);
	kind->flash->dead = false;
	kind->flash->left = -1;
	for (uint32_t i = 0; i < MOST_SECTORS; i++) {
		sectors[i].erased = false;
	}
}

static void make(const struct kind *kind)
{
	bool force = true;

	disk_access_ioctl(kind->name, DISK_IOCTL_CTRL_DEINIT, &force);
	flash_make(kind->flash);
	require(disk_access_init(kind->name) == 0);
	require(disk_access_ioctl(kind->name, DISK_IOCTL_GET_SECTOR_COUNT, &sector_count) == 0);
	require(sector_count <= MOST_SECTORS);
	all_hold_zeros();
	state = 1;
	version = 0;
}

static void test_interface(const struct kind *kind)
{
	const char *disk = kind->name;
	static uint8_t data[2 * SECTOR];
	uint32_t size = 0, unit = 0;
	unsigned writes;

	require(disk_access_status(disk) == DISK_STATUS_UNINIT);
	require(disk_access_read(disk, data, 0, 1) == -EINVAL);
	require(disk_access_write(disk, data, 0, 1) == -EINVAL);
	require(disk_access_ioctl(disk, DISK_IOCTL_GET_SECTOR_SIZE, &size) == -EINVAL);
	require(disk_access_ioctl(disk, DISK_IOCTL_CTRL_SYNC, NULL) == -EINVAL);
	make(kind);
	require(disk_access_status(disk) == DISK_STATUS_OK);
	require(disk_access_ioctl(disk, DISK_IOCTL_GET_SECTOR_SIZE, &size) == 0 && size == SECTOR);
	require(disk_access_ioctl(disk, DISK_IOCTL_GET_ERASE_BLOCK_SZ, &unit) == 0 && unit == 1);
	require(disk_access_ioctl(disk, 99, data) == -ENOTSUP);
	require(sector_count > kind->flash->size / SECTOR / 4);

	require(disk_access_read(disk, data, sector_count - 2, 2) == 0);
	require(disk_access_read(disk, data, sector_count - 1, 2) == -EINVAL);
	require(disk_access_write(disk, data, sector_count, 1) == -EINVAL);
	require(disk_access_write(disk, data, UINT32_MAX, 2) == -EINVAL);
	require(disk_access_write(disk, data, 1, UINT32_MAX) == -EINVAL);
	require(disk_access_erase(disk, sector_count - 1, 2, DISK_ACCESS_ERASE_PHYSICAL) == -EINVAL);
	require(disk_access_write(disk, data, sector_count, 0) == 0);

	for (uint32_t i = 0; i < 3000; i++) {
		require(operate(disk, sector_count) == 0);
	}
	check_all(disk);

	/* Used twice, given back twice; then the tables are on the flash, and all is there. */
	require(disk_access_ioctl(disk, DISK_IOCTL_CTRL_INIT, NULL) == 0);
	require(disk_access_ioctl(disk, DISK_IOCTL_CTRL_DEINIT, NULL) == 0);
	require(disk_access_status(disk) == DISK_STATUS_OK);
	require(disk_access_ioctl(disk, DISK_IOCTL_CTRL_DEINIT, NULL) == 0);
	require(disk_access_status(disk) == DISK_STATUS_UNINIT);
	writes = kind->flash->writes;
	require(disk_access_ioctl(disk, DISK_IOCTL_CTRL_INIT, NULL) == 0);
	require(kind->flash->writes == writes);
	check_all(disk);

	/* Where it cannot be closed in order it is not closed, but by force. */
	kind->flash->dead = true;
	require(disk_access_write(disk, data, 0, 1) == -EIO);
	require(disk_access_ioctl(disk, DISK_IOCTL_CTRL_DEINIT, NULL) == -EIO);
	require(disk_access_status(disk) == DISK_STATUS_OK);
	power_off_and_on(kind);
}

static void test_sync(const struct kind *kind)
{
	unsigned writes;

	make(kind);
	for (uint32_t i = 0; i < 300; i++) {
		require(operate(kind->name, sector_count) == 0);
	}
	writes = kind->flash->writes;
	require(disk_access_erase(kind->name, 0, sector_count, DISK_ACCESS_ERASE_PHYSICAL) == 0);
	require(disk_access_ioctl(kind->name, DISK_IOCTL_CTRL_SYNC, NULL) == 0);
	/* Pages of the map, and none of zeros. */
	require(kind->flash->writes - writes < sector_count / 4);
	all_hold_zeros();
	power_off_and_on(kind);
	require(disk_access_init(kind->name) == 0);
	check_all(kind->name);
}

/* The power fails at each write and erase: of the making of a store, and of `operations` operations. Returns how many there were. */
static unsigned test_cuts(const struct kind *kind, uint32_t operations)
{
	unsigned cuts;
	uint32_t i;
	int code = 0;

	for (cuts = 0;; cuts++) {
		make(kind);
		power_off_and_on(kind);
		flash_make(kind->flash);
		kind->flash->left = cuts;
		if (disk_access_init(kind->name) == 0) {
			break;
		}
		power_off_and_on(kind);
		require(disk_access_init(kind->name) == 0);
		check_all(kind->name);
	}
	for (;; cuts++) {
		long at;

		make(kind);
		for (i = 0; i < 200; i++) {
			require(operate(kind->name, sector_count / 2) == 0);
		}
		at = kind->flash->left = cuts % 4096;
		for (i = 0, code = 0; i < operations && code == 0; i++) {
			code = operate(kind->name, sector_count / 2);
		}
		if (code == 0) {
			return cuts;
		}
		power_off_and_on(kind);
		require(disk_access_init(kind->name) == 0);
		check_all(kind->name);
		/* It is written on, and cut again. */
		kind->flash->left = 1 + at % 7;
		for (code = 0; code == 0;) {
			code = operate(kind->name, sector_count / 2);
		}
		power_off_and_on(kind);
		require(disk_access_init(kind->name) == 0);
		check_all(kind->name);
	}
}

static void test_flash_that_does_not_fit(const struct kind *kind)
{
	struct flash *flash = kind->flash;
	const struct flash_parameters right = flash->parameters;

	flash_make(flash);
	flash->ready = false;
	require(disk_access_init(kind->name) == -ENODEV);
	flash->ready = true;
	flash->parameters.erase_value = 0;
	require(disk_access_init(kind->name) == -EINVAL);
	flash->parameters = right;
	flash->parameters.write_block_size = 3 * 256;
	require(disk_access_init(kind->name) == -EINVAL);
	flash->parameters = right;
	flash->unit *= 3;
	require(disk_access_init(kind->name) == -EINVAL);
	flash->unit /= 3;
	if (!flash->is_nand) {
		/* It writes whole pages. */
		flash->parameters.write_block_size = 128;
		require(disk_access_init(kind->name) == -EINVAL);
		flash->parameters = right;
	}
}

static void test_flash_that_fails(const struct kind *kind)
{
	struct flash *flash = kind->flash;
	static uint8_t data[SECTOR];
	static bool before[nand_partition_size / 2048];
	const size_t pages = flash->size / flash->parameters.write_block_size;
	uint32_t i, failed = 0;

	make(kind);
	require(disk_access_write(kind->name, data, 0, 1) == 0);
	/* One block after the other fails: each is marked and left, and nothing is lost. */
	flash->failing[7] = true;
	for (i = 0; i < 3000; i++) {
		require(operate(kind->name, sector_count / 2) == 0);
	}
	require(!flash->is_nand || flash->bad[7]);
	check_all(kind->name);
	/* All fail. */
	memset(flash->failing, 1, flash->size / flash->unit);
	for (i = 0; i < 10000 && failed == 0; i++) {
		failed = operate(kind->name, sector_count / 2);
	}
	require((int)failed == -EROFS);
	require(disk_access_read(kind->name, data, 0, 1) == 0);

	if (flash->is_nand) {
		make(kind);
		require(disk_access_write(kind->name, data, 200, 1) == 0);
		memcpy(before, flash->written, pages);
		require(disk_access_write(kind->name, data, 100, 1) == 0);
		for (i = 0; i < pages; i++) {
			flash->torn[i] = flash->written[i] && !before[i];
		}
		require(disk_access_read(kind->name, data, 100, 1) == -EIO);
		require(disk_access_read(kind->name, data, 200, 1) == 0);
	}
}

static void test_store_beneath(const struct kind *kind)
{
	struct thermocline_health health;
	thermocline *store;

	make(kind);
	for (uint32_t i = 0; i < 2000; i++) {
		require(operate(kind->name, sector_count / 2) == 0);
	}
	store = thermocline_disk_lock(kind->dev);
	require(thermocline_clean(store, 16) >= 0);
	thermocline_health(store, &health);
	thermocline_disk_unlock(kind->dev);
	require(health.mean_erases > 0 && health.bad_blocks == kind->flash->is_nand);
	check_all(kind->name);
	require(thermocline_disk_format(kind->dev) == 0);
	all_hold_zeros();
	check_all(kind->name);
	/* What is there and is no store of this shape is not overwritten. */
	memset(kind->flash->bytes, 0x5a, 3 * kind->flash->unit);
	power_off_and_on(kind);
	require(disk_access_init(kind->name) == 0);
}

/* Two threads, one of which has the even sectors: pages are shared. */
static void *write_and_read(void *parameter)
{
	const struct kind *kind = ((const void **)parameter)[0];
	uint32_t first = *(const uint32_t *)((const void **)parameter)[1];
	uint32_t data[SECTOR / 4];

	for (uint32_t i = 1; i <= 4000; i++) {
		uint32_t sector = first + 2 * (i * 7919 % 60);

		fill(data, sector, i);
		require(disk_access_write(kind->name, (uint8_t *)data, sector, 1) == 0);
		if (i % 16 == 0) {
			require(disk_access_ioctl(kind->name, DISK_IOCTL_CTRL_SYNC, NULL) == 0);
		}
		require(disk_access_read(kind->name, (uint8_t *)data, sector, 1) == 0);
		require(version_of(data, sector) == i);
	}
	return NULL;
}

static void test_threads(const struct kind *kind)
{
	static const uint32_t firsts[] = {0, 1};
	const void *arguments[2][2] = {{kind, &firsts[0]}, {kind, &firsts[1]}};
	pthread_t threads[2];

	make(kind);
	for (int i = 0; i < 2; i++) {
		require(pthread_create(&threads[i], NULL, write_and_read, arguments[i]) == 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
	}
}

int main(void)
{
	zephyr_is_quiet = true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *kind = &kinds[i];
		unsigned cuts;

		test_flash_that_does_not_fit(kind);
		test_interface(kind);
		test_sync(kind);
		test_flash_that_fails(kind);
		test_store_beneath(kind);
		test_threads(kind);
		cuts = test_cuts(kind, 60);
		printf("%s: %u sectors; the power failed at each of %u writes and erases\n", kind->name, sector_count, cuts);
	}
	require(disk_access_init("none") == -EINVAL);
	return 0;
}

/*
 * Zephyr for the tests, as far as the disk needs it: a registry of disks, mutexes, and flash in memory that keeps to the rules of NOR
 * and NAND. Flash may be touched under a mutex only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "zephyr.h"

bool zephyr_is_quiet;

void require_(bool is, const char *what, const char *file, int line)
{
	if (!is) {
		fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
		exit(1);
	}
}

/* Flash. */

struct flash nor = {.size = 4096 + nor_partition_size, .unit = 4096, .parameters = {4, 0xff}};
struct flash nand = {.size = nand_partition_size, .unit = 32768, .parameters = {2048, 0xff}, .is_nand = true};
struct flash odd = {.size = odd_partition_size, .unit = 16384, .parameters = {32, 0xff}};
const struct device nor_device = {.name = "nor", .data = &nor};
const struct device nand_device = {.name = "nand", .data = &nand};
const struct device odd_device = {.name = "odd", .data = &odd};

void flash_make(struct flash *flash)
{
	size_t blocks = flash->size / flash->parameters.write_block_size;
	size_t units = flash->size / flash->unit;

	flash->bytes = realloc(flash->bytes, flash->size);
	memset(flash->bytes, 0xff, flash->size);
	free(flash->written);
	free(flash->torn);
	free(flash->bad);
	free(flash->failing);
	flash->written = calloc(blocks, 1);
	flash->torn = calloc(blocks, 1);
	flash->bad = calloc(units, 1);
	flash->failing = calloc(units, 1);
	flash->bad[5] = flash->is_nand;
	flash->ready = true;
	flash->dead = false;
	flash->left = -1;
}

static __thread int held;

static struct flash *flash_of(const struct device *dev, off_t offset, size_t length)
{
	struct flash *flash = dev->data;

	require(held > 0);
	require(offset >= 0 && offset + length <= flash->size);
	return flash;
}

/* Whether an operation is the one during which the power fails. */
static bool is_cut(struct flash *flash)
{
	if (flash->left == 0) {
		flash->dead = true;
	}
	flash->left -= flash->left >= 0;
	return flash->dead;
}

bool device_is_ready(const struct device *dev)
{
	return ((struct flash *)dev->data)->ready;
}

const struct flash_parameters *flash_get_parameters(const struct device *dev)
{
	return &((struct flash *)dev->data)->parameters;
}

int flash_get_page_info_by_offs(const struct device *dev, off_t offset, struct flash_pages_info *info)
{
	struct flash *flash = dev->data;

	if (offset < 0 || (size_t)offset >= flash->size) {
		return -EINVAL;
	}
	info->index = offset / flash->unit;
	info->start_offset = info->index * flash->unit;
	info->size = flash->unit;
	return 0;
}

int flash_read(const struct device *dev, off_t offset, void *data, size_t length)
{
	struct flash *flash = flash_of(dev, offset, length);
	size_t unit = flash->parameters.write_block_size;

	if (flash->dead) {
		return -ENODEV;
	}
	if (flash->is_nand) {
		require(offset / unit == (offset + length - 1) / unit);
		if (flash->torn[offset / unit]) {
			return -EBADMSG;
		}
	}
	memcpy(data, flash->bytes + offset, length);
	return 0;
}

int flash_write(const struct device *dev, off_t offset, const void *data, size_t length)
{
	struct flash *flash = flash_of(dev, offset, length);
	size_t unit = flash->parameters.write_block_size, i;
	bool cut;

	if (flash->dead) {
		return -ENODEV;
	}
	require(offset % unit == 0 && length % unit == 0);
	if (flash->failing[offset / flash->unit]) {
		return -EIO;
	}
	cut = is_cut(flash);
	flash->writes++;
	for (i = offset / unit; i < (offset + length) / unit; i++) {
		/* Nothing is written twice, no page of a NAND before another one of its block. */
		require(!flash->written[i]);
		require(!flash->is_nand || (i + 1) * unit % flash->unit == 0 || !flash->written[i + 1]);
		flash->written[i] = true;
		flash->torn[i] = cut && flash->is_nand;
		if (cut && i == (offset + length / 2) / unit) {
			memcpy(flash->bytes + i * unit, (const uint8_t *)data + (i * unit - offset), unit / 2);
			break;
		}
		memcpy(flash->bytes + i * unit, (const uint8_t *)data + (i * unit - offset), unit);
	}
	return cut ? -ENODEV : 0;
}

int flash_erase(const struct device *dev, off_t offset, size_t size)
{
	struct flash *flash = flash_of(dev, offset, size);
	size_t unit = flash->parameters.write_block_size, i;
	size_t done = size;
	bool cut;

	if (flash->dead) {
		return -ENODEV;
	}
	require(offset % flash->unit == 0 && size % flash->unit == 0);
	require(!flash->bad[offset / flash->unit]);
	if (flash->failing[offset / flash->unit]) {
		return -EIO;
	}
	cut = is_cut(flash);
	flash->erases++;
	if (cut) {
		done = size / 2;
	}
	memset(flash->bytes + offset, 0xff, done);
	for (i = offset / unit; i < (offset + done) / unit; i++) {
		flash->written[i] = flash->torn[i] = false;
	}
	for (; i < (offset + size) / unit; i++) {
		flash->written[i] = true;
		flash->torn[i] = flash->is_nand;
	}
	return cut ? -ENODEV : 0;
}

int flash_ex_op(const struct device *dev, uint16_t code, uintptr_t in, void *out)
{
	off_t offset = *(const off_t *)in;
	struct flash *flash = flash_of(dev, offset, 1);

	if (!flash->is_nand) {
		return -ENOTSUP;
	}
	if (flash->dead) {
		return -ENODEV;
	}
	if (code == FLASH_EX_OP_MARK_BAD_BLOCK) {
		flash->bad[offset / flash->unit] = true;
	} else {
		*(int *)out = flash->bad[offset / flash->unit] ? FLASH_BLOCK_BAD : FLASH_BLOCK_GOOD;
	}
	return 0;
}

/* Mutexes, which a thread may take again. */

int k_mutex_init(struct k_mutex *mutex)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	mutex->of_the_host = malloc(sizeof(pthread_mutex_t));
	return pthread_mutex_init(mutex->of_the_host, &attributes);
}

int k_mutex_lock(struct k_mutex *mutex, int timeout)
{
	require(timeout == K_FOREVER);
	pthread_mutex_lock(mutex->of_the_host);
	held++;
	return 0;
}

int k_mutex_unlock(struct k_mutex *mutex)
{
	held--;
	return pthread_mutex_unlock(mutex->of_the_host);
}

/* Disks. */

static struct disk_info *disks;

void zephyr_start(const struct device *dev, int (*init)(const struct device *dev))
{
	require(init(dev) == 0);
}

static struct disk_info *disk_of(const char *name)
{
	struct disk_info *disk = disks;

	while (disk != NULL && strcmp(disk->name, name)) {
		disk = disk->next;
	}
	return disk;
}

int disk_access_register(struct disk_info *disk)
{
	if (disk_of(disk->name) != NULL) {
		return -EINVAL;
	}
	disk->next = disks;
	disks = disk;
	return 0;
}

int disk_access_ioctl(const char *pdrv, uint8_t cmd, void *buff)
{
	struct disk_info *disk = disk_of(pdrv);
	int code;

	if (disk == NULL) {
		return -EINVAL;
	}
	/* Those that begin and end the use of a disk are counted. */
	if (cmd == DISK_IOCTL_CTRL_INIT) {
		code = disk->refcnt ? 0 : disk->ops->ioctl(disk, cmd, buff);
		disk->refcnt += code == 0;
		return code;
	}
	if (cmd == DISK_IOCTL_CTRL_DEINIT && buff != NULL && *(bool *)buff) {
		disk->refcnt = 0;
		disk->ops->ioctl(disk, cmd, buff);
		return 0;
	}
	if (cmd == DISK_IOCTL_CTRL_DEINIT) {
		if (disk->refcnt == 0) {
			return -EINVAL;
		}
		code = disk->refcnt > 1 ? 0 : disk->ops->ioctl(disk, cmd, buff);
		disk->refcnt -= code == 0;
		return code;
	}
	return disk->ops->ioctl(disk, cmd, buff);
}

int disk_access_init(const char *pdrv)
{
	struct disk_info *disk = disk_of(pdrv);
	int code;

	if (disk == NULL) {
		return -EINVAL;
	}
	code = disk->refcnt ? 0 : disk->ops->init(disk);
	disk->refcnt += code == 0;
	return code;
}

int disk_access_status(const char *pdrv)
{
	struct disk_info *disk = disk_of(pdrv);

	return disk ? disk->ops->status(disk) : -EINVAL;
}

int disk_access_read(const char *pdrv, uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector)
{
	struct disk_info *disk = disk_of(pdrv);

	return disk ? disk->ops->read(disk, data_buf, start_sector, num_sector) : -EINVAL;
}

int disk_access_write(const char *pdrv, const uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector)
{
	struct disk_info *disk = disk_of(pdrv);

	return disk ? disk->ops->write(disk, data_buf, start_sector, num_sector) : -EINVAL;
}

int disk_access_erase(const char *pdrv, uint32_t start_sector, uint32_t num_sector, enum disk_access_erase_type type)
{
	struct disk_info *disk = disk_of(pdrv);

	return disk && type == DISK_ACCESS_ERASE_PHYSICAL ? disk->ops->erase(disk, start_sector, num_sector) : -EINVAL;
}

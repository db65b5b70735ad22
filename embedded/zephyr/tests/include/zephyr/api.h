/*
 * What of Zephyr 4.4 the disk uses, declared in our words: names, arguments and values are Zephyr's, all else is not. zephyr.c is
 * what they do here.
 */
#ifndef ZEPHYR_API_H
#define ZEPHYR_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* <zephyr/version.h> */
#ifndef KERNEL_VERSION_NUMBER
#define KERNEL_VERSION_NUMBER 0x40400
#endif

/* <zephyr/sys/util.h>, <zephyr/toolchain.h> */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define ROUND_UP(value, unit) (((value) + (unit) - 1) / (unit) * (unit))
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define ARG_UNUSED(argument) ((void)(argument))
#define BUILD_ASSERT(is, text) _Static_assert(is, text)
#undef __aligned
#define __aligned(bytes) __attribute__((aligned(bytes)))
/* 1 for a macro that is 1, 0 for one that is not defined. */
#define IS_ENABLED(option) IS_ENABLED_(option)
#define IS_ENABLED_(value) SECOND(IS_##value 1, 0, 0)
#define IS_1 0,
#define SECOND(...) SECOND_(__VA_ARGS__)
#define SECOND_(first, second, ...) second

/* <zephyr/device.h> */
struct device {
	const char *name;
	const void *config;
	void *data;
};
bool device_is_ready(const struct device *dev);
#define POST_KERNEL 0
#define DEVICE_DT_GET(node) (&DT_CAT_(node, _device))
#define DEVICE_DT_INST_DEFINE(n, init, power, data_, config_, level, priority, api)                                    \
	const struct device disk_##n##_device = {.name = "disk@" #n, .config = config_, .data = data_};                \
	__attribute__((constructor)) static void start_##n(void)                                                       \
	{                                                                                                              \
		zephyr_start(&disk_##n##_device, init);                                                                \
	}
/* Calls what a driver is started by; the harness's own. */
void zephyr_start(const struct device *dev, int (*init)(const struct device *dev));

/* <zephyr/devicetree.h>: the tree is devices.h. */
#define DT_INST_PROP(n, property) DT_INST_##n##_##property
#define DT_INST_PROP_OR(n, property, other) DT_OR_(DT_INST_HAS_##n##_##property, DT_INST_##n##_##property, other)
#define DT_OR_(has, value, other) DT_OR__(has, value, other)
#define DT_OR__(has, value, other) SECOND(IS_##has value, other, 0)
#define DT_INST_PHANDLE(n, property) DT_INST_##n##_##property
#define DT_REG_ADDR(node) DT_CAT_(node, _address)
#define DT_REG_SIZE(node) DT_CAT_(node, _size)
#define DT_MTD_FROM_FIXED_PARTITION(node) DT_CAT_(node, _flash)
#define DT_NODELABEL(label) label
#define DT_CAT_(a, b) DT_CAT__(a, b)
#define DT_CAT__(a, b) a##b
#include "devices.h"

/* <zephyr/kernel.h> */
struct k_mutex {
	void *of_the_host;
};
#define K_FOREVER (-1)
int k_mutex_init(struct k_mutex *mutex);
int k_mutex_lock(struct k_mutex *mutex, int timeout);
int k_mutex_unlock(struct k_mutex *mutex);

#define printk printf

/* <zephyr/logging/log.h> */
extern bool zephyr_is_quiet;
#define LOG_MODULE_REGISTER(...) _Static_assert(1, "")
#define LOG_MODULE_DECLARE(...) LOG_MODULE_REGISTER(__VA_ARGS__)
#define LOG_ERR(...) ((void)(zephyr_is_quiet || (printf("error: " __VA_ARGS__), puts(""))))
#define LOG_WRN(...) LOG_ERR(__VA_ARGS__)
#define LOG_INF(...) LOG_ERR(__VA_ARGS__)

/* <zephyr/drivers/flash.h> */
struct flash_parameters {
	size_t write_block_size;
	uint8_t erase_value;
};
struct flash_pages_info {
	off_t start_offset;
	size_t size;
	uint32_t index;
};
enum flash_block_status { FLASH_BLOCK_GOOD, FLASH_BLOCK_BAD };
enum { FLASH_EX_OP_MARK_BAD_BLOCK = 1, FLASH_EX_OP_IS_BAD_BLOCK = 2 };
int flash_read(const struct device *dev, off_t offset, void *data, size_t length);
int flash_write(const struct device *dev, off_t offset, const void *data, size_t length);
int flash_erase(const struct device *dev, off_t offset, size_t size);
const struct flash_parameters *flash_get_parameters(const struct device *dev);
int flash_get_page_info_by_offs(const struct device *dev, off_t offset, struct flash_pages_info *info);
int flash_ex_op(const struct device *dev, uint16_t code, uintptr_t in, void *out);

/* <zephyr/drivers/disk.h> */
#define DISK_IOCTL_GET_SECTOR_COUNT 1
#define DISK_IOCTL_GET_SECTOR_SIZE 2
#define DISK_IOCTL_GET_ERASE_BLOCK_SZ 4
#define DISK_IOCTL_CTRL_SYNC 5
#define DISK_IOCTL_CTRL_INIT 6
#define DISK_IOCTL_CTRL_DEINIT 7
#define DISK_STATUS_OK 0
#define DISK_STATUS_UNINIT 1
struct disk_info {
	struct disk_info *next;
	const char *name;
	const struct disk_operations *ops;
	const struct device *dev;
	uint16_t refcnt;
};
struct disk_operations {
	int (*init)(struct disk_info *disk);
	int (*status)(struct disk_info *disk);
	int (*read)(struct disk_info *disk, uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
	int (*write)(struct disk_info *disk, const uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
	int (*erase)(struct disk_info *disk, uint32_t start_sector, uint32_t num_sector);
	int (*ioctl)(struct disk_info *disk, uint8_t cmd, void *buff);
};
int disk_access_register(struct disk_info *disk);

/* <zephyr/storage/disk_access.h> */
enum disk_access_erase_type { DISK_ACCESS_ERASE_PHYSICAL };
int disk_access_init(const char *pdrv);
int disk_access_status(const char *pdrv);
int disk_access_read(const char *pdrv, uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
int disk_access_write(const char *pdrv, const uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
int disk_access_erase(const char *pdrv, uint32_t start_sector, uint32_t num_sector, enum disk_access_erase_type type);
int disk_access_ioctl(const char *pdrv, uint8_t cmd, void *buff);

#endif

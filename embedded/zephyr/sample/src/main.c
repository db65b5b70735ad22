/*
 * A file that counts starts, on FAT, on a disk of raw flash. FatFs makes its volume at the first start.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <ff.h>
#include <string.h>
#include <thermocline/disk.h>
#include <zephyr/device.h>
#include <zephyr/devicetree.h>
#include <zephyr/fs/fs.h>
#include <zephyr/kernel.h>

static FATFS fat;
static struct fs_mount_t mount = {
	.type = FS_FATFS,
	.mnt_point = "/NAND:",
	.fs_data = &fat,
};

/* The count of starts, this one included; negative for an error. */
static int count_start(void)
{
	struct fs_file_t file;
	uint32_t count = 0;
	int code;

	fs_file_t_init(&file);
	code = fs_open(&file, "/NAND:/starts", FS_O_CREATE | FS_O_RDWR);
	if (code < 0) {
		return code;
	}
	(void)fs_read(&file, &count, sizeof(count));
	count++;
	code = fs_seek(&file, 0, FS_SEEK_SET);
	if (code >= 0) {
		code = (int)fs_write(&file, &count, sizeof(count));
	}
	/* What is closed survives a loss of power: FatFs syncs the disk. */
	if (fs_close(&file) < 0 || code < 0) {
		return code < 0 ? code : -1;
	}
	return (int)count;
}

int main(void)
{
	const struct device *disk = DEVICE_DT_GET(DT_NODELABEL(disk0));
	struct thermocline_health health;
	int count;

	if (fs_mount(&mount) < 0) {
		printk("no file system\n");
		return 0;
	}
	count = count_start();
	thermocline_health(thermocline_disk_lock(disk), &health);
	thermocline_disk_unlock(disk);
	printk("start %d; blocks were erased %u times in the mean, %u free\n", count,
	       (unsigned int)health.mean_erases, (unsigned int)health.free_blocks);
	fs_unmount(&mount);
	return 0;
}

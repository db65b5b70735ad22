/*
 * The disk "NAND" for another program: requests on the standard input, answers on the standard output.
 *
 * A request is a letter and a number of four bytes, lowest first: r and w read and write that sector (512 bytes follow what asks or
 * answers), s syncs, n says how many sectors there are, f lets the power fail after so many writes and erases of the flash, and p is
 * the next start. The answer begins with four bytes: 0, or the disk's error.
 */
#include <string.h>
#include <zephyr/storage/disk_access.h>

#include "zephyr.h"

#define DISK "NAND"

int main(void)
{
	uint8_t head[5], sector[512];
	bool force = true;

	zephyr_is_quiet = true;
	flash_make(&nand);
	require(disk_access_init(DISK) == 0);
	while (fread(head, sizeof(head), 1, stdin) == 1) {
		uint32_t number, length = 0;
		int32_t code = 0;

		memcpy(&number, head + 1, sizeof(number));
		switch (head[0]) {
		case 'r':
			code = disk_access_read(DISK, sector, number, 1);
			length = sizeof(sector);
			break;
		case 'w':
			require(fread(sector, sizeof(sector), 1, stdin) == 1);
			code = disk_access_write(DISK, sector, number, 1);
			break;
		case 's':
			code = disk_access_ioctl(DISK, DISK_IOCTL_CTRL_SYNC, NULL);
			break;
		case 'n':
			code = disk_access_ioctl(DISK, DISK_IOCTL_GET_SECTOR_COUNT, sector);
			length = sizeof(uint32_t);
			break;
		case 'f':
			nand.left = number;
			break;
		default:
			nand.dead = true;
			disk_access_ioctl(DISK, DISK_IOCTL_CTRL_DEINIT, &force);
			nand.dead = false;
			nand.left = -1;
			code = disk_access_init(DISK);
		}
		fwrite(&code, sizeof(code), 1, stdout);
		if (code == 0) {
			fwrite(sector, length, 1, stdout);
		}
		fflush(stdout);
	}
	return 0;
}
